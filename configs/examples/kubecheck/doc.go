// Package kubecheck holds the examples for Kubernetes against the types of its API:
// names of fields, and what they may hold. It is tests only, and a module of its own, so that
// nothing else depends on Kubernetes.
package kubecheck
