// Lets the functions of linkname.go have no body.
