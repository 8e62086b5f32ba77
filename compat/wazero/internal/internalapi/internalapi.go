// Package internalapi keeps the interfaces of package api from being implemented elsewhere.
package internalapi

// WazeroOnly is embedded in interfaces that only this module implements.
type WazeroOnly interface{ wazeroOnly() }

// WazeroOnlyType is embedded in what implements such an interface.
type WazeroOnlyType struct{}

func (WazeroOnlyType) wazeroOnly() {}
