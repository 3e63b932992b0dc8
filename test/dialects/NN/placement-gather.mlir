// Placement rules of indexed reads and writes, and of cross-entropy.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @gather
func.func @gather(%t: tensor<9x4xf32, #nn.replicated>, %i: tensor<1x5xi64, #nn.batched<0>>, %x: tensor<1x7x4xf32, #nn.batched<0>>, %r: tensor<2xi64, #nn.replicated>, %p: tensor<9x4xf32, #nn.partial<sum>>) {
  // CHECK: nn.gather{{.*}} -> tensor<1x5x4xf32, #nn.batched<0>>
  %0 = nn.gather(%t, %i) {axis = 0 : i64} : (tensor<9x4xf32, #nn.replicated>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5x4xf32, #nn.batched<0>>
  // CHECK: nn.gather{{.*}} -> tensor<1x5x4xf32, #nn.batched<0>>
  %1 = nn.gather(%x, %i) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x7x4xf32, #nn.batched<0>>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5x4xf32, #nn.batched<0>>
  // CHECK: nn.gather{{.*}} -> tensor<1x2x4xf32, #nn.batched<0>>
  %2 = nn.gather(%x, %r) {axis = 1 : i64} : (tensor<1x7x4xf32, #nn.batched<0>>, tensor<2xi64, #nn.replicated>) -> tensor<1x2x4xf32, #nn.batched<0>>
  // CHECK: nn.gather{{.*}} -> tensor<2x4xf32, #nn.partial<sum>>
  %3 = nn.gather(%p, %r) {axis = 0 : i64} : (tensor<9x4xf32, #nn.partial<sum>>, tensor<2xi64, #nn.replicated>) -> tensor<2x4xf32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @scatter
func.func @scatter(%i: tensor<1x5xi64, #nn.batched<0>>, %u: tensor<1x5x4xf32, #nn.batched<0>>, %r: tensor<2xi64, #nn.replicated>, %p: tensor<2x4xf32, #nn.partial<sum>>) {
  // CHECK: nn.scatter_add{{.*}} -> tensor<9x4xf32, #nn.partial<sum>>
  %0 = nn.scatter_add(%i, %u) {axis = 0 : i64} : (tensor<1x5xi64, #nn.batched<0>>, tensor<1x5x4xf32, #nn.batched<0>>) -> tensor<9x4xf32, #nn.partial<sum>>
  // CHECK: nn.scatter_add{{.*}} -> tensor<1x7x4xf32, #nn.batched<0>>
  %1 = nn.scatter_add(%i, %u) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x5xi64, #nn.batched<0>>, tensor<1x5x4xf32, #nn.batched<0>>) -> tensor<1x7x4xf32, #nn.batched<0>>
  // CHECK: nn.scatter_add{{.*}} -> tensor<9x4xf32, #nn.partial<sum>>
  %2 = nn.scatter_add(%r, %p) {axis = 0 : i64} : (tensor<2xi64, #nn.replicated>, tensor<2x4xf32, #nn.partial<sum>>) -> tensor<9x4xf32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @elements
func.func @elements(%x: tensor<1x7xf32, #nn.batched<0>>, %i: tensor<1x5xi64, #nn.batched<0>>, %u: tensor<1x5xf32, #nn.batched<0>>, %j: tensor<5x1xi64, #nn.batched<1>>, %v: tensor<5x1xf32, #nn.batched<1>>) {
  // CHECK: nn.gather_elements{{.*}} -> tensor<1x5xf32, #nn.batched<0>>
  %0 = nn.gather_elements(%x, %i) {axis = 1 : i64} : (tensor<1x7xf32, #nn.batched<0>>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5xf32, #nn.batched<0>>
  // CHECK: nn.scatter_elements_add{{.*}} -> tensor<1x7xf32, #nn.batched<0>>
  %1 = nn.scatter_elements_add(%i, %u) {axis = 1 : i64} : (tensor<1x5xi64, #nn.batched<0>>, tensor<1x5xf32, #nn.batched<0>>) -> tensor<1x7xf32, #nn.batched<0>>
  // CHECK: nn.scatter_elements_add{{.*}} -> tensor<5x9xf32, #nn.partial<sum>>
  %2 = nn.scatter_elements_add(%j, %v) {axis = 1 : i64} : (tensor<5x1xi64, #nn.batched<1>>, tensor<5x1xf32, #nn.batched<1>>) -> tensor<5x9xf32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @loss
func.func @loss(%x: tensor<3x1x7xf32, #nn.batched<1>>, %l: tensor<3x1xi64, #nn.batched<1>>) {
  // CHECK: nn.cross_entropy{{.*}} -> (tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  %0:2 = nn.cross_entropy(%x, %l) : (tensor<3x1x7xf32, #nn.batched<1>>, tensor<3x1xi64, #nn.batched<1>>) -> (tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  // CHECK: nn.cross_entropy_grad{{.*}} -> tensor<3x1x7xf32, #nn.batched<1>>
  %1 = nn.cross_entropy_grad(%x, %l, %0#1, %0#0) : (tensor<3x1x7xf32, #nn.batched<1>>, tensor<3x1xi64, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>) -> tensor<3x1x7xf32, #nn.batched<1>>
  return
}

// -----

func.func @gather(%x: tensor<1x4xf32, #nn.batched<0>>, %i: tensor<1x5xi64, #nn.batched<0>>, %r: tensor<2xi64, #nn.replicated>, %y: tensor<3x1x4xf32, #nn.batched<1>>) {
  // expected-error @+1 {{it picks samples by index along the batch axis 0 of [N, 4]}}
  %0 = nn.gather(%x, %r) {axis = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<2xi64, #nn.replicated>) -> tensor<2x4xf32, #nn.replicated>
  // expected-error @+1 {{it reads values of one sample by the indices of others}}
  %1 = nn.gather(%x, %i) {axis = 1 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x1x5xf32, #nn.batched<0>>
  // expected-error @+1 {{it reads values of one sample by the indices of others}}
  %2 = nn.gather(%y, %i) {axis = 0 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5x1x4xf32, #nn.batched<2>>
  return
}

// -----

func.func @scatter(%i: tensor<1x5xi64, #nn.batched<0>>, %r: tensor<1x5xi64, #nn.replicated>, %u: tensor<1x5x4xf32, #nn.batched<0>>, %v: tensor<1x5x4xf32, #nn.replicated>, %s: tensor<1x5x1xf32, #nn.batched<2>>) {
  // expected-error @+1 {{it reads along the batch by a value of fixed shape [1, 5]}}
  %0 = nn.scatter_add(%r, %u) {axis = 0 : i64} : (tensor<1x5xi64, #nn.replicated>, tensor<1x5x4xf32, #nn.batched<0>>) -> tensor<9x4xf32, #nn.partial<sum>>
  // expected-error @+1 {{it reads along the batch by a value of fixed shape [1, 5, 4]}}
  %1 = nn.scatter_add(%i, %v) {axis = 0 : i64} : (tensor<1x5xi64, #nn.batched<0>>, tensor<1x5x4xf32, #nn.replicated>) -> tensor<9x4xf32, #nn.partial<sum>>
  // expected-error @+1 {{it adds values of one sample at the indices of others}}
  %2 = nn.scatter_add(%i, %s) {axis = 0 : i64} : (tensor<1x5xi64, #nn.batched<0>>, tensor<1x5x1xf32, #nn.batched<2>>) -> tensor<9x1xf32, #nn.partial<sum>>
  return
}

// -----

func.func @elements(%x: tensor<1x7xf32, #nn.batched<0>>, %i: tensor<1x5xi64, #nn.batched<0>>, %r: tensor<1x5xi64, #nn.replicated>) {
  // expected-error @+1 {{it picks samples by index along the batch axis 0}}
  %0 = nn.gather_elements(%x, %i) {axis = 0 : i64} : (tensor<1x7xf32, #nn.batched<0>>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5xf32, #nn.batched<0>>
  // expected-error @+1 {{it reads along the batch by a value of fixed shape [1, 5]}}
  %1 = nn.gather_elements(%x, %r) {axis = 1 : i64} : (tensor<1x7xf32, #nn.batched<0>>, tensor<1x5xi64, #nn.replicated>) -> tensor<1x5xf32, #nn.batched<0>>
  return
}

// -----

func.func @loss(%x: tensor<3x1x7xf32, #nn.batched<1>>, %l: tensor<3x1xi64, #nn.replicated>, %y: tensor<3x1xf32, #nn.batched<1>>, %k: tensor<3xi64, #nn.replicated>, %m: tensor<3x1xi64, #nn.batched<0, outer = 3>>) {
  // expected-error @+1 {{it compares the batch with a value of fixed shape [3, 1]}}
  %0:2 = nn.cross_entropy(%x, %l) : (tensor<3x1x7xf32, #nn.batched<1>>, tensor<3x1xi64, #nn.replicated>) -> (tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  // expected-error @+1 {{it takes the batch axis 1 of [3, N] for the classes}}
  %1:2 = nn.cross_entropy(%y, %k) : (tensor<3x1xf32, #nn.batched<1>>, tensor<3xi64, #nn.replicated>) -> (tensor<3xf32, #nn.replicated>, tensor<3xf32, #nn.replicated>)
  // expected-error @+1 {{it compares logits of one sample with labels of others}}
  %2:2 = nn.cross_entropy(%x, %m) : (tensor<3x1x7xf32, #nn.batched<1>>, tensor<3x1xi64, #nn.batched<0, outer = 3>>) -> (tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  return
}
