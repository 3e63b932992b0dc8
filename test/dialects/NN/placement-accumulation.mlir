// Placement rules of dropout, of random numbers and of what cutting the batch adds.
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

// -----

// CHECK-LABEL: @random
func.func @random(%x: tensor<3x2xf32, #nn.batched<1, outer = 2>>, %p: tensor<4xf32, #nn.partial<sum>>, %w: tensor<4xf32, #nn.whole>, %rng: tensor<3xi64, #nn.replicated>, %r: tensor<i64, #nn.replicated>) {
  // By what it is like, by its own type, or the same for all samples.
  // CHECK: nn.random <uniform> like {{.*}} : tensor<3x2xf32, #nn.batched<1, outer = 2>>
  %0 = nn.random <uniform> like %x : tensor<3x2xf32, #nn.batched<1, outer = 2>> {key = 1 : i64} : tensor<3x2xf32, #nn.batched<1, outer = 2>>
  // CHECK: nn.random <normal> {{.*}} : tensor<3x2xf32, #nn.batched<1, outer = 2>>
  %1 = nn.random <normal> (%rng, %r : tensor<3xi64, #nn.replicated>, tensor<i64, #nn.replicated>) {key = 1 : i64, dim = 1 : i64, outer = 2 : i64, rows = 1 : i64} : tensor<3x2xf32, #nn.batched<1, outer = 2>>
  // CHECK: nn.random <uniform> like {{.*}} : tensor<4xf32, #nn.replicated>
  %2 = nn.random <uniform> like %p : tensor<4xf32, #nn.partial<sum>> {key = 1 : i64} : tensor<4xf32, #nn.replicated>
  // CHECK: nn.random <mask> {{.*}} : tensor<4xf32, #nn.replicated>
  %3 = nn.random <mask> {key = 1 : i64, ratio = 0.5 : f64} : tensor<4xf32, #nn.replicated>
  // CHECK: nn.random <uniform> like {{.*}} : tensor<4xf32, #nn.whole>
  %4 = nn.random <uniform> like %w : tensor<4xf32, #nn.whole> {key = 1 : i64} : tensor<4xf32, #nn.whole>
  return
}

// -----

func.func @random(%x: tensor<3x1xf32, #nn.batched<1>>, %rng: tensor<3xi64, #nn.replicated>, %r: tensor<1xi64, #nn.batched<0>>) {
  // expected-error @+1 {{it is keyed by samples on another axis than the value has them}}
  %0 = nn.random <uniform> {key = 1 : i64, dim = 0 : i64, outer = 1 : i64, rows = 1 : i64} : tensor<3x1xf32, #nn.batched<1>>
  // expected-error @+1 {{it draws from a generator that differs from sample to sample}}
  %1 = nn.random <uniform> (%rng, %r : tensor<3xi64, #nn.replicated>, tensor<1xi64, #nn.batched<0>>) {key = 1 : i64} : tensor<4xf32, #nn.replicated>
  return
}
