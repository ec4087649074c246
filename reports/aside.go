package reports

import (
	"runtime"
	"sync"
)

// aside is work that goes on beside that of who began it. Rows that lie in a file
// tell by a panic that it can't be read (as the caller expects them to): such a one
// goes on in who waits, so that it ends the call and not the program.
type aside struct {
	all  sync.WaitGroup
	lock sync.Mutex
	what any // of the first panic
}

// do begins a piece of work.
func (a *aside) do(work func()) {
	a.all.Go(func() {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if _, ours := r.(runtime.Error); ours {
				panic(r) // a mistake of this program's: where it was made must be seen
			}
			a.lock.Lock()
			defer a.lock.Unlock()
			if a.what == nil {
				a.what = r
			}
		}()
		work()
	})
}

// wait is done when all pieces are. It panics as the first of them that did.
func (a *aside) wait() {
	a.all.Wait()
	if a.what != nil {
		panic(a.what)
	}
}
