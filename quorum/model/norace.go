//go:build !race

package model

// RaceDetector tells whether this is a build with the race detector, in which a search
// takes ten times as long, and finds the same: tests search less then.
const RaceDetector = false
