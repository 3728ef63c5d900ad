package quorum

// Look lists the keys that the program has met and that had been read from the
// backends, with what they hold there.
func (v *View) Look() (keys []Key, held []Holding) {
	for _, k := range v.touched {
		if h, ok := v.known[k]; ok {
			keys, held = append(keys, k), append(held, h)
		}
	}
	return keys, held
}

// Stores is the client value that the program stores under a key, by the last of its
// writes to it. ok is false if that write stores none, or raises a counter.
func (v *View) Stores(key Key) (value string, ok bool) {
	for i := len(v.writes) - 1; i >= 0; i-- {
		if w := v.writes[i]; w.Key == key {
			return w.value, w.Kind == Put || w.Kind == Refresh
		}
	}
	return "", false
}

// Wrote tells whether the program wrote anything.
func (v *View) Wrote() bool { return len(v.writes) > 0 }
