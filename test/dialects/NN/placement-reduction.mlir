// Placement rules of reductions, scans and row normalisations.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<3x1x4xf32, #nn.batched<1>>, %p: tensor<3x4xf32, #nn.partial<sum>>) {
  // CHECK: nn.reduce{{.*}} -> tensor<1x4xf32, #nn.batched<0>>
  %0 = nn.reduce <max> (%x) {axes = array<i64: 0>} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<1x4xf32, #nn.batched<0>>
  // CHECK: nn.reduce{{.*}} -> tensor<3xf32, #nn.partial<sum>>
  %1 = nn.reduce <sum> (%x) {axes = array<i64: 1, 2>} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3xf32, #nn.partial<sum>>
  // CHECK: nn.reduce{{.*}} -> tensor<4xf32, #nn.partial<sum>>
  %2 = nn.reduce <sum> (%p) {axes = array<i64: 0>} : (tensor<3x4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  // CHECK: nn.arg_reduce{{.*}} -> tensor<1x4xi64, #nn.batched<0>>
  %3 = nn.arg_reduce <max> (%x) {axis = 0 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<1x4xi64, #nn.batched<0>>
  // CHECK: nn.cumsum{{.*}} -> tensor<3x1x4xf32, #nn.batched<1>>
  %4 = nn.cumsum(%x) {axis = 0 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x1x4xf32, #nn.batched<1>>
  // CHECK: nn.cumsum{{.*}} -> tensor<3x4xf32, #nn.partial<sum>>
  %5 = nn.cumsum(%p) {axis = 0 : i64} : (tensor<3x4xf32, #nn.partial<sum>>) -> tensor<3x4xf32, #nn.partial<sum>>
  // CHECK: nn.top_k{{.*}} -> (tensor<3x1x2xf32, #nn.batched<1>>, tensor<3x1x2xi64, #nn.batched<1>>)
  %6:2 = nn.top_k(%x) {axis = 2 : i64, k = 2 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> (tensor<3x1x2xf32, #nn.batched<1>>, tensor<3x1x2xi64, #nn.batched<1>>)
  return
}

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<3x1x4xf32, #nn.batched<1>>, %g: tensor<4xf32, #nn.replicated>) {
  // CHECK: nn.softmax{{.*}} -> tensor<3x1x4xf32, #nn.batched<1>>
  %0 = nn.softmax(%x) {axis = 0 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x1x4xf32, #nn.batched<1>>
  // CHECK: nn.layer_norm{{.*}} -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  %1:3 = nn.layer_norm(%x scale %g bias %g) {axis = 2 : i64, eps = 1.0e-5 : f64} : (tensor<3x1x4xf32, #nn.batched<1>>, tensor<4xf32, #nn.replicated>, tensor<4xf32, #nn.replicated>) -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  // CHECK: nn.rms_norm{{.*}} -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  %2:2 = nn.rms_norm(%x scale %g) {axis = 2 : i64, eps = 1.0e-5 : f64} : (tensor<3x1x4xf32, #nn.batched<1>>, tensor<4xf32, #nn.replicated>) -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3x1xf32, #nn.batched<1>>)
  return
}

// -----

func.func @over_batch(%x: tensor<3x1x4xf32, #nn.batched<1>>) {
  // expected-error @+1 {{it takes the maximum over the batch axis 1 of [3, N, 4]}}
  %0 = nn.reduce <max> (%x) {axes = array<i64: 1>} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x4xf32, #nn.replicated>
  // expected-error @+1 {{it takes the index of the minimum over the batch axis 1}}
  %1 = nn.arg_reduce <min> (%x) {axis = 1 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x4xi64, #nn.replicated>
  // expected-error @+1 {{it takes a running sum over the batch axis 1}}
  %2 = nn.cumsum(%x) {axis = 1 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x1x4xf32, #nn.batched<1>>
  // expected-error @+1 {{it takes the 1 largest over the batch axis 1}}
  %3:2 = nn.top_k(%x) {axis = 1 : i64, k = 1 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3x1x4xi64, #nn.batched<1>>)
  // expected-error @+1 {{it takes the softmax over the batch axis 1 of [3, N, 4]}}
  %4 = nn.softmax(%x) {axis = 1 : i64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> tensor<3x1x4xf32, #nn.batched<1>>
  // expected-error @+1 {{it normalises over the batch axis 1 of [3, N, 4]: mean and variance are taken over all samples}}
  %5:3 = nn.layer_norm(%x) {axis = 1 : i64, eps = 1.0e-5 : f64} : (tensor<3x1x4xf32, #nn.batched<1>>) -> (tensor<3x1x4xf32, #nn.batched<1>>, tensor<3xf32, #nn.replicated>, tensor<3xf32, #nn.replicated>)
  return
}

// -----

func.func @of_sums(%p: tensor<3x4xf32, #nn.partial<sum>>) {
  // expected-error @+1 {{it applies a function that is not linear to a sum over the samples}}
  %0 = nn.softmax(%p) {axis = 1 : i64} : (tensor<3x4xf32, #nn.partial<sum>>) -> tensor<3x4xf32, #nn.partial<sum>>
  // expected-error @+1 {{it applies a function that is not linear to a sum over the samples}}
  %1 = nn.reduce <max> (%p) {axes = array<i64: 1>} : (tensor<3x4xf32, #nn.partial<sum>>) -> tensor<3xf32, #nn.partial<sum>>
  // expected-error @+1 {{it applies a function that is not linear to a sum over the samples}}
  %2 = nn.cumsum(%p) {axis = 1 : i64, log} : (tensor<3x4xf32, #nn.partial<sum>>) -> tensor<3x4xf32, #nn.partial<sum>>
  return
}
