package features

// Rows is a sequence of rows, such as the windows of a night, that lie in
// memory or are fetched one by one. The zero value has none. What At gives is to be
// read only, and stays as it is for as long as it is held; of rows that are
// fetched each call may give another copy. Whether several goroutines may ask is up to
// what fetches them.
type Rows[T any] struct {
	list   []T
	n      int
	at     func(i int) *T
	cursor func() func(i int) *T
}

// List gives rows that lie in memory.
func List[T any](list []T) Rows[T] { return Rows[T]{list: list, n: len(list)} }

// Fetched gives n rows of which at gives each.
func Fetched[T any](n int, at func(i int) *T) Rows[T] { return Rows[T]{n: n, at: at} }

// WithCursor is the rows with a faster way to go through them: see Cursor.
func (r Rows[T]) WithCursor(open func() func(i int) *T) Rows[T] {
	r.cursor = open
	return r
}

// Cursor gives a way to ask for one row after another, for one goroutine: several may
// work at once, each with its own. What it gives holds until it is asked again, and is
// At's otherwise.
func (r Rows[T]) Cursor() func(i int) *T {
	if r.cursor != nil {
		return r.cursor()
	}
	return r.At
}

// Slice gives all rows in memory: for few.
func (r Rows[T]) Slice() []T {
	if r.at == nil {
		return r.list
	}
	all := make([]T, r.n)
	for i := range all {
		all[i] = *r.at(i)
	}
	return all
}

// Len is the number of rows.
func (r Rows[T]) Len() int { return r.n }

// At gives row i.
func (r Rows[T]) At(i int) *T {
	if r.at == nil {
		return &r.list[i]
	}
	return r.at(i)
}

// Range is the rows from one number to another, which is not among them.
func (r Rows[T]) Range(from, to int) Rows[T] {
	if r.at == nil {
		return List(r.list[from:to:to])
	}
	some := Fetched(to-from, func(i int) *T { return r.at(from + i) })
	if r.cursor != nil {
		some.cursor = func() func(i int) *T {
			at := r.cursor()
			return func(i int) *T { return at(from + i) }
		}
	}
	return some
}
