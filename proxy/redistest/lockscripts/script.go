package lockscripts

import (
	"slices"
	"strconv"
	"time"
)

// Owner is the token with which the scripts lock, release and extend.
const Owner = "me"

// deadline, as an argument, stands for an absolute time in milliseconds.
const deadline = "<deadline>"

// Script is a text and the operands that its users send with it.
type Script struct {
	Name, Text string
	Args       []string
	Keys       Keys

	// AlsoKeys are operands that users send as keys behind the real one, although
	// they are none.
	AlsoKeys []string
}

// Keys says which keys a script works on.
type Keys uint8

// What a script locks.
const (
	One     Keys = iota // one key
	Any                 // any number of keys together
	Counted             // one key, and a counter as the second key
)

// Count are the numbers of keys that a script is worth trying with.
func (s Script) Count() []int {
	switch s.Keys {
	case Any:
		return []int{1, 2, 3}
	case Counted:
		return []int{2}
	}
	return []int{1}
}

// Operands are KEYS and ARGV for a script that locks these keys. The time is used
// where an absolute one is sent.
func (s Script) Operands(keys []string, at time.Time) (allKeys, args []string) {
	args = slices.Clone(s.Args)
	for i, a := range args {
		if a == deadline {
			args[i] = strconv.FormatInt(at.UnixMilli(), 10)
		}
	}
	return slices.Concat(keys, s.AlsoKeys), args
}

// Words are the operands as EVAL and EVALSHA take them, behind the text or digest.
func (s Script) Words(keys []string, at time.Time) []string {
	allKeys, args := s.Operands(keys, at)
	return slices.Concat([]string{strconv.Itoa(len(allKeys))}, allKeys, args)
}
