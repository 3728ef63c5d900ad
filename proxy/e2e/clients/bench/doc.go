// Package bench compares the speed of the proxy with that of one Redis hit
// directly, and with a client-side Redlock library over the same five backends:
//
//	go test -run '^$' -bench Table -benchtime 1x -v ./bench
//
// prints one table in Markdown, in under three minutes. It is made for machines
// that others use too, so it never compares two absolute numbers of different
// times: both sides of a ratio are loaded in turn for about two seconds each, again
// and again, and what counts is the median of the ratios of neighbours.
package bench
