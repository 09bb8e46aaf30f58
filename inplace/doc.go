package inplace
