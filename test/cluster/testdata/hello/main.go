// Command hello is built by tests in place of a component.
package main

func main() { println("hello") }
