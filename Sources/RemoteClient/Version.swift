/// The version of the program, as in `kiosk --version`.
package let kioskVersion = "0.1.0"
