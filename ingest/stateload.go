package ingest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// loadState gives a decoder, what dec points to, a state that saveState gave.
// The decoder is of no use after an error.
func loadState(dec any, b []byte) error {
	v := reflect.ValueOf(dec)
	if v.Kind() != reflect.Pointer { // without memory: there is nothing to load
		v = reflect.New(v.Type())
	}
	r := stateReader{b: b}
	r.value(v.Elem(), 0)
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes are left over", len(r.b))
	}
	return r.err
}

type stateReader struct {
	b       []byte
	objects []reflect.Value // pointers
	zones   []*time.Location
	err     error
}

func (r *stateReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

func (r *stateReader) uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("cut off")
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *stateReader) int() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("cut off")
		return 0
	}
	r.b = r.b[n:]
	return x
}

// take gives the next n bytes.
func (r *stateReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail("cut off")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// value reads a value, and looks at it as its type asks.
func (r *stateReader) value(v reflect.Value, depth int) {
	r.plain(v, depth)
	if r.err == nil && reflect.PointerTo(v.Type()).Implements(checkerType) {
		if err := v.Addr().Interface().(StateChecker).CheckState(); err != nil {
			r.fail("%w", err)
		}
	}
}

func (r *stateReader) plain(v reflect.Value, depth int) {
	if r.err != nil {
		return
	}
	if depth > stateDepth {
		r.fail("nested too deep")
		return
	}
	switch v.Type() {
	case timeType:
		r.time(v)
		return
	case locationType:
		name := string(r.take(r.uint()))
		switch have := (*time.Location)(v.UnsafePointer()); {
		case r.err != nil:
		case have != nil && have.String() == name:
			r.zones = append(r.zones, have)
		case have == nil && name != "": // a copy of one that came before
			i := slices.IndexFunc(r.zones, func(z *time.Location) bool { return z.String() == name })
			if i < 0 {
				r.fail("the zone %q is another", name)
				return
			}
			v.Set(reflect.ValueOf(r.zones[i]))
		case have != nil:
			r.fail("the zone %q is another", name)
		}
		return
	case nameType:
		r.fail("a Name is no state")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if b := r.take(1); r.err == nil {
			v.SetBool(b[0] != 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if x := r.int(); v.OverflowInt(x) {
			r.fail("%d is no %s", x, v.Type())
		} else {
			v.SetInt(x)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if x := r.uint(); v.OverflowUint(x) {
			r.fail("%d is no %s", x, v.Type())
		} else {
			v.SetUint(x)
		}
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Float64frombits(bits.ReverseBytes64(r.uint())))
	case reflect.String:
		v.SetString(string(r.take(r.uint())))
	case reflect.Slice:
		r.slice(v, depth)
	case reflect.Array:
		if raw(v.Type().Elem()) {
			copy(v.Bytes(), r.take(uint64(v.Len())))
			return
		}
		for i := range v.Len() {
			r.value(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !stateless(v.Type().Field(i)) {
				r.value(fieldOf(v, i), depth+1)
			}
		}
	case reflect.Map:
		r.entries(v, depth)
	case reflect.Pointer:
		r.pointer(v, depth)
	case reflect.Func:
	default:
		r.fail("a %s is no state", v.Type())
	}
}

// slice reads as many elements as there are bytes for: memory follows what
// was read, not what the length says.
func (r *stateReader) slice(v reflect.Value, depth int) {
	n := r.uint()
	if n == 0 || r.err != nil {
		v.SetZero()
		return
	}
	n--
	if raw(v.Type().Elem()) {
		b := r.take(n)
		v.Set(reflect.MakeSlice(v.Type(), len(b), len(b)))
		copy(v.Bytes(), b)
		return
	}
	if n > uint64(len(r.b)) {
		r.fail("a list of %d in %d bytes", n, len(r.b))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, int(min(n, 16))))
	for range n {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		r.value(v.Index(v.Len()-1), depth+1)
		if r.there(v.Index(v.Len() - 1)); r.err != nil {
			return
		}
	}
}

// A map or an object that a decoder is opened with stays there: it is not asked
// for again.
func (r *stateReader) entries(v reflect.Value, depth int) {
	n := r.uint()
	if n == 0 && !v.IsNil() {
		r.fail("a %s is missing", v.Type())
	}
	if n == 0 || r.err != nil {
		return
	}
	n--
	if n > uint64(len(r.b)) {
		r.fail("a map of %d in %d bytes", n, len(r.b))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		r.value(key, depth+1)
		r.value(val, depth+1)
		if r.there(val); r.err != nil {
			return
		}
		v.SetMapIndex(key, val)
	}
	if uint64(v.Len()) != n {
		r.fail("a key stands twice")
	}
}

// there asks for the object of an element of a list or a map: no decoder has them
// without one.
func (r *stateReader) there(v reflect.Value) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		r.fail("a %s is missing", v.Type())
	}
}

func (r *stateReader) pointer(v reflect.Value, depth int) {
	switch n := r.uint(); {
	case r.err != nil:
	case n == 0 && !v.IsNil():
		r.fail("a %s is missing", v.Type())
	case n == 0:
	case n <= uint64(len(r.objects)):
		p := r.objects[n-1]
		if p.Type() != v.Type() {
			r.fail("object %d is no %s", n, v.Type())
			return
		}
		v.Set(p)
	case n == uint64(len(r.objects))+1:
		if v.IsNil() { // else the one that is there has what is no state
			v.Set(reflect.New(v.Type().Elem()))
		}
		r.objects = append(r.objects, v)
		r.objects[n-1] = reflect.ValueOf(v.Interface())
		r.value(v.Elem(), depth+1)
	default:
		r.fail("there is no object %d", n)
	}
}

func (r *stateReader) time(v reflect.Value) {
	sec, ns := r.int(), r.int()
	name := string(r.take(r.uint()))
	offset := r.int()
	if r.err != nil || ns < 0 || ns >= 1e9 || offset < -86400 || offset > 86400 {
		r.fail("a time is none")
		return
	}
	loc := time.UTC
	if name != "UTC" {
		var err error
		if loc, err = time.LoadLocation(name); err != nil {
			loc = time.FixedZone(name, int(offset))
		}
	}
	at := time.Unix(sec, ns).In(loc)
	if at.Unix() != sec { // beyond what a Time holds
		r.fail("a time is none")
		return
	}
	*(*time.Time)(v.Addr().UnsafePointer()) = at
}

// describeState writes the shape of a type and of all that it is made of: a
// state of another shape is not loaded.
func describeState(b []byte, t reflect.Type, seen map[reflect.Type]bool) []byte {
	b = append(append(b, t.String()...), ' ')
	if seen[t] || t == timeType || t == locationType {
		return b
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		b = append(b, '{')
		for i := range t.NumField() {
			f := t.Field(i)
			if !stateless(f) {
				b = describeState(append(append(b, f.Name...), ' '), f.Type, seen)
			}
		}
		b = append(b, '}')
	case reflect.Map:
		b = describeState(describeState(b, t.Key(), seen), t.Elem(), seen)
	case reflect.Array:
		b = describeState(strconv.AppendInt(b, int64(t.Len()), 10), t.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		b = describeState(b, t.Elem(), seen)
	}
	return b
}
