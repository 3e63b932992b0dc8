// Placement rules of dropout and of what cutting the batch adds.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @accumulation
func.func @accumulation(%x: tensor<3x1xf32, #nn.batched<1>>, %y: tensor<3xf32, #nn.batched<0, outer = 3>>, %v: tensor<1xi1, #nn.batched<0>>, %r: tensor<4xf32, #nn.replicated>, %p: tensor<4xf32, #nn.partial<sum>>, %f: tensor<i64, #nn.replicated>) {
  // CHECK: nn.total{{.*}} -> tensor<4xf32, #nn.replicated>
  %0 = nn.total %p : tensor<4xf32, #nn.partial<sum>> -> tensor<4xf32, #nn.replicated>
  // CHECK: nn.share{{.*}} -> tensor<4xf32, #nn.partial<sum>>
  %1 = nn.share(%r, %f) : (tensor<4xf32, #nn.replicated>, tensor<i64, #nn.replicated>) -> tensor<4xf32, #nn.partial<sum>>
  // CHECK: nn.mask_rows{{.*}} -> tensor<3x1xf32, #nn.batched<1>>
  %2 = nn.mask_rows(%x, %v) {dim = 1 : i64} : (tensor<3x1xf32, #nn.batched<1>>, tensor<1xi1, #nn.batched<0>>) -> tensor<3x1xf32, #nn.batched<1>>
  // CHECK: nn.mask_rows{{.*}} -> tensor<3xf32, #nn.batched<0, outer = 3>>
  %3 = nn.mask_rows(%y, %v) {dim = 0 : i64, outer = 3 : i64} : (tensor<3xf32, #nn.batched<0, outer = 3>>, tensor<1xi1, #nn.batched<0>>) -> tensor<3xf32, #nn.batched<0, outer = 3>>
  // CHECK: nn.batch_size{{.*}} : tensor<i64, #nn.replicated>
  %4 = nn.batch_size : tensor<i64, #nn.replicated>
  return
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<3x1xf32, #nn.batched<1>>, %r: tensor<4xf32, #nn.replicated>, %p: tensor<4xf32, #nn.partial<sum>>) {
  // CHECK: nn.dropout{{.*}} -> tensor<3x1xf32, #nn.batched<1>>
  %0 = nn.dropout(%x) {ratio = 0.1 : f64, key = 1 : i64, dim = 1 : i64, outer = 1 : i64, rows = 1 : i64} : (tensor<3x1xf32, #nn.batched<1>>) -> tensor<3x1xf32, #nn.batched<1>>
  // CHECK: nn.dropout{{.*}} -> tensor<4xf32, #nn.replicated>
  %1 = nn.dropout(%r) {ratio = 0.1 : f64, key = 1 : i64} : (tensor<4xf32, #nn.replicated>) -> tensor<4xf32, #nn.replicated>
  // CHECK: nn.dropout{{.*}} -> tensor<4xf32, #nn.partial<sum>>
  %2 = nn.dropout(%p) {ratio = 0.1 : f64, key = 1 : i64} : (tensor<4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  return
}

// -----

func.func @accumulation(%x: tensor<3x1xf32, #nn.batched<1>>, %v: tensor<1xi1, #nn.batched<0>>, %p: tensor<4xf32, #nn.partial<sum>>, %r: tensor<4xf32, #nn.replicated>) {
  // expected-error @+1 {{it takes the total of a value that is not partial}}
  %0 = nn.total %r : tensor<4xf32, #nn.replicated> -> tensor<4xf32, #nn.replicated>
  // expected-error @+1 {{it shares a value that is not replicated}}
  %1 = nn.share(%p) : (tensor<4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  // expected-error @+1 {{it masks rows that are not samples}}
  %2 = nn.mask_rows(%x, %v) {dim = 0 : i64} : (tensor<3x1xf32, #nn.batched<1>>, tensor<1xi1, #nn.batched<0>>) -> tensor<3x1xf32, #nn.batched<1>>
  return
}

// -----

func.func @dropout(%x: tensor<3x1xf32, #nn.batched<1>>) {
  // expected-error @+1 {{it is keyed by samples on another axis than the value has them}}
  %0 = nn.dropout(%x) {ratio = 0.1 : f64, key = 1 : i64, dim = 0 : i64, outer = 1 : i64, rows = 1 : i64} : (tensor<3x1xf32, #nn.batched<1>>) -> tensor<3x1xf32, #nn.batched<1>>
  return
}
