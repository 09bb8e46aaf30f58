module github.com/daemonplan/daemonplan/internal/mutation

go 1.26.0
