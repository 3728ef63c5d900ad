package lua

import (
	"fmt"
	"math"

	gl "github.com/yuin/gopher-lua"
)

// arithmetic is what Lua's operators do with numbers, by their metamethods' names.
func arithmetic() map[string]func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__mod": func(a, b float64) float64 { return a - math.Floor(a/b)*b },
		"__pow": math.Pow,
		"__unm": func(a, _ float64) float64 { return -a },
	}
}

func (v *vm) mathLibrary() *gl.LTable {
	one := map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan,
		"ceil": math.Ceil, "cos": math.Cos, "cosh": math.Cosh, "exp": math.Exp,
		"floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin,
		"sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) },
		"rad": func(x float64) float64 { return x * (math.Pi / 180) },
	}
	two := map[string]func(a, b float64) float64{
		"atan2": math.Atan2, "fmod": math.Mod, "mod": math.Mod, "pow": math.Pow,
		"ldexp": func(a, b float64) float64 { return math.Ldexp(a, int(min(max(b, -1<<20), 1<<20))) },
	}
	t := v.library(map[string]func(call) int{
		"max": mathMax, "min": mathMin, "modf": mathModf, "frexp": mathFrexp,
		"random": mathRandom, "randomseed": mathRandomSeed,
	})
	for name, f := range one {
		t.RawSetString(name, v.function(name, func(c call) int { return c.push(gl.LNumber(f(c.number(1)))) }))
	}
	for name, f := range two {
		t.RawSetString(name, v.function(name, func(c call) int {
			return c.push(gl.LNumber(f(c.number(1), c.number(2))))
		}))
	}
	t.RawSetString("pi", gl.LNumber(math.Pi))
	t.RawSetString("huge", gl.LNumber(math.Inf(1)))
	return t
}

func mathMax(c call) int {
	best := c.number(1)
	for i := 2; i <= c.L.GetTop(); i++ {
		if f := c.number(i); f > best {
			best = f
		}
	}
	return c.push(gl.LNumber(best))
}

func mathMin(c call) int {
	best := c.number(1)
	for i := 2; i <= c.L.GetTop(); i++ {
		if f := c.number(i); f < best {
			best = f
		}
	}
	return c.push(gl.LNumber(best))
}

func mathModf(c call) int {
	f := c.number(1)
	if math.IsInf(f, 0) {
		return c.push(gl.LNumber(f), gl.LNumber(0))
	}
	whole, rest := math.Modf(f)
	return c.push(gl.LNumber(whole), gl.LNumber(rest))
}

func mathFrexp(c call) int {
	m, e := math.Frexp(c.number(1))
	return c.push(gl.LNumber(m), gl.LNumber(e))
}

// math.random gives every run the sequence that a fresh Redis gives its first
// script, C's lrand48 from its initial state: a run that is repeated on other
// data draws the same numbers again.
const randomStart = 0x1234abcd330e

func randomSeed(seed int32) uint64 { return uint64(uint32(seed))<<16 | 0x330e }

// draw is the next number, from 0 inclusive to 1 exclusive.
func (v *vm) draw() float64 {
	v.random = (v.random*0x5deece66d + 0xb) & (1<<48 - 1)
	const most = math.MaxInt32
	return float64((v.random>>17)%most) / most
}

func mathRandom(c call) int {
	r := c.draw()
	low, high := 1, 0
	switch c.L.GetTop() {
	case 0:
		return c.push(gl.LNumber(r))
	case 1:
		high = c.integer(1)
	case 2:
		low, high = c.integer(1), c.integer(2)
	default:
		c.raise("wrong number of arguments")
	}
	if low > high {
		c.badArgument(c.L.GetTop(), "interval is empty")
	}
	return c.push(gl.LNumber(math.Floor(r*float64(high-low+1)) + float64(low)))
}

func mathRandomSeed(c call) int {
	c.random = randomSeed(int32(c.integer(1)))
	return 0
}

// bitFunctions work on numbers as 32-bit integers, the result signed.
func bitFunctions() map[string]func(call) int {
	fold := func(f func(a, b uint32) uint32) func(call) int {
		return func(c call) int {
			n := c.bits(1)
			for i := 2; i <= c.L.GetTop(); i++ {
				n = f(n, c.bits(i))
			}
			return c.pushBits(n)
		}
	}
	shift := func(f func(a uint32, by uint) uint32) func(call) int {
		return func(c call) int { return c.pushBits(f(c.bits(1), uint(c.bits(2)&31))) }
	}
	return map[string]func(call) int{
		"tobit":   func(c call) int { return c.pushBits(c.bits(1)) },
		"bnot":    func(c call) int { return c.pushBits(^c.bits(1)) },
		"bswap":   func(c call) int { n := c.bits(1); return c.pushBits(n>>24 | n>>8&0xff00 | n<<8&0xff0000 | n<<24) },
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(a uint32, by uint) uint32 { return a << by }),
		"rshift":  shift(func(a uint32, by uint) uint32 { return a >> by }),
		"arshift": shift(func(a uint32, by uint) uint32 { return uint32(int32(a) >> by) }),
		"rol":     shift(func(a uint32, by uint) uint32 { return a<<by | a>>(32-by) }),
		"ror":     shift(func(a uint32, by uint) uint32 { return a>>by | a<<(32-by) }),
		"tohex":   bitToHex,
	}
}

// bits is a number modulo 2^32, halves rounded to even.
func (c call) bits(n int) uint32 {
	f := math.Mod(math.RoundToEven(c.number(n)), 1<<32)
	if f != f {
		return 0
	}
	return uint32(int64(f))
}

func (c call) pushBits(n uint32) int { return c.push(gl.LNumber(int32(n))) }

func bitToHex(c call) int {
	n, digits := c.bits(1), c.optInteger(2, 8)
	format := "%0*x"
	if digits < 0 {
		digits, format = -digits, "%0*X"
	}
	digits = min(digits, 8)
	text := fmt.Sprintf(format, digits, n)
	return c.pushText(text[len(text)-digits:])
}
