// Package serve is a read-only page over a lake for the browser of the one who
// runs it: nights as a calendar, the report of a night, and from a cell of its
// map down to the events of a window.
//
// It answers GET and HEAD only, and only to the names by which it was started:
// another Host header is that of a page that tricks a browser into asking here
// (DNS rebinding).
package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// Lake is what a Server answers from.
type Lake struct {
	Job       *local.Job
	Inventory reduce.Inventory
	Catalogue cluster.Catalogue
	Rules     *cluster.Rules
	Renew     func(now bool) error // brings a working copy up to date, if it is time to; nil: the job's lake is no copy
}

// Server is the pages of a lake.
type Server struct {
	lake  Lake
	hosts []string // that a request may be for, without port
	mux   *http.ServeMux

	mu    sync.Mutex
	pages []page // the latest last
	busy  chan struct{}
}

// page is one that was made.
type page struct {
	path     string
	sequence int64
	body     []byte
}

// pagesKept bounds the pages in memory; eventsShown the events of a window.
const (
	pagesKept   = 6
	eventsShown = 1000
)

// New makes the pages of a lake for a listener at addr. A request may name
// localhost, the address itself, and names.
func New(l Lake, addr string, names []string) *Server {
	s := &Server{lake: l, mux: http.NewServeMux(), busy: make(chan struct{}, 1)}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	s.hosts = append([]string{"localhost", "127.0.0.1", "::1"}, names...)
	if host != "" {
		s.hosts = append(s.hosts, host)
	}
	s.mux.HandleFunc("GET /{$}", s.made(s.nights))
	s.mux.HandleFunc("GET /night/{date}", s.made(s.night))
	s.mux.HandleFunc("GET /device", s.made(s.device))
	s.mux.HandleFunc("GET /window", s.made(s.window))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	if !slices.Contains(s.hosts, strings.ToLower(host)) {
		http.Error(w, "this page is not served under that name", http.StatusMisdirectedRequest)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	s.mux.ServeHTTP(w, r)
}

// made answers with a page, made anew only when the lake has changed. One page
// is made at a time: what a page takes of memory is bounded.
func (s *Server) made(makePage func(*http.Request, *bytes.Buffer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.body(r, makePage)
		switch {
		case errors.Is(err, local.ErrNoWindow):
			http.Error(w, "the lake holds nothing of that", http.StatusNotFound)
		case errors.Is(err, context.Canceled):
		case err != nil:
			http.Error(w, strings.ReplaceAll(err.Error(), s.lake.Job.Lake, s.lake.Job.Named()), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			if r.Method != http.MethodHead {
				_, _ = w.Write(body) // the reader may have gone
			}
		}
	}
}

func (s *Server) body(r *http.Request, makePage func(*http.Request, *bytes.Buffer) error) ([]byte, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.lake.Renew == nil {
		return s.known(r, makePage)
	}
	if err := s.lake.Renew(false); err != nil {
		return nil, err
	}
	body, err := s.known(r, makePage)
	if err != nil && !errors.Is(err, context.Canceled) { // what it was made of may have been replaced meanwhile
		if err := s.lake.Renew(true); err != nil {
			return nil, err
		}
		body, err = s.known(r, makePage)
	}
	return body, err
}

// known gives the page that was made of the lake as it is, or makes it.
func (s *Server) known(r *http.Request, makePage func(*http.Request, *bytes.Buffer) error) ([]byte, error) {
	sequence, err := s.lake.Job.Sequence()
	if err != nil {
		return nil, err
	}
	path := r.URL.RequestURI()
	s.mu.Lock()
	s.pages = slices.DeleteFunc(s.pages, func(p page) bool { return p.sequence != sequence })
	for _, p := range s.pages {
		if p.path == path {
			s.mu.Unlock()
			return p.body, nil
		}
	}
	s.mu.Unlock()
	var b bytes.Buffer
	if err := makePage(r, &b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pages) == pagesKept {
		s.pages = slices.Delete(s.pages, 0, 1)
	}
	s.pages = append(s.pages, page{path, sequence, b.Bytes()})
	return b.Bytes(), nil
}

func (s *Server) nights(_ *http.Request, b *bytes.Buffer) error {
	nights, devices, err := s.lake.Job.Nights()
	if err != nil {
		return err
	}
	return reports.NightsPage(b, nights, devices, s.lake.Catalogue, s.lake.Job.Version)
}

func (s *Server) night(r *http.Request, b *bytes.Buffer) error {
	in, err := s.lake.Job.Night(r.PathValue("date"), s.lake.Inventory, s.lake.Catalogue, s.lake.Rules)
	if err != nil {
		return err
	}
	return reports.HTML(b, in)
}

// key is the device that a request asks for.
func key(r *http.Request) features.Key {
	q := r.URL.Query()
	return features.Key{Host: q.Get("host"), Device: q.Get("device")}
}

func (s *Server) device(r *http.Request, b *bytes.Buffer) error {
	k := key(r)
	sick, err := s.lake.Job.DeviceSick(k)
	if err != nil {
		return err
	}
	if len(sick) == 0 {
		return local.ErrNoWindow
	}
	return reports.DevicePage(b, k, sick, s.lake.Catalogue, s.lake.Job.Version)
}

func (s *Server) window(r *http.Request, b *bytes.Buffer) error {
	q := r.URL.Query()
	at := q.Get("at")
	if at == "" {
		at = q.Get("near")
	}
	ns, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("no time: %w", local.ErrNoWindow)
	}
	d, err := s.lake.Job.WindowDetail(r.Context(), key(r), ns, s.lake.Inventory, s.lake.Catalogue, s.lake.Rules, eventsShown)
	if err != nil {
		return err
	}
	return reports.WindowPage(b, d)
}

// Run answers at a listener until the context ends; then requests in hand may
// take some seconds more.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := srv.Shutdown(wait)
		if errors.Is(err, context.DeadlineExceeded) { // a browser keeps a connection that it hasn't used yet
			err = srv.Close()
		}
		done <- err
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-done
}
