// What moves or computes little and has one reader runs in its kernel.
// RUN: accum-opt %s -accum-form-commands=mode=fused -split-input-file | FileCheck %s

// A rotary embedding: transposed, rotated by halves, scaled, added.
// CHECK-LABEL: train.step @rotary
// CHECK: train.phase "micro"
// CHECK: %[[ROTATED:.*]] = train.command @{{.*}}(%{{[a-z0-9]*}}) {{.*}}id = 0 : i64} : (tensor<1x6x2x8xf32, #nn.batched<0>>) -> tensor<1x6x2x8xf32, #nn.batched<0>>
// CHECK-NEXT: train.command @reduce_f32(%[[ROTATED]])
// CHECK-NEXT: train.yield
train.step @rotary inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x6x2x8xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss = train.phase "micro" loop(%x: tensor<1x6x2x8xf32, #nn.batched<0>> = %x) -> tensor<f32, #nn.replicated> {
    %sin = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32, #nn.replicated>
    %t = nn.transpose %x [0, 2, 1, 3] : tensor<1x6x2x8xf32, #nn.batched<0>> -> tensor<1x2x6x8xf32, #nn.batched<0>>
    %high = nn.slice %t at [0, 0, 0, 4] by [1, 1, 1, 1] : tensor<1x2x6x8xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %n = nn.elementwise <neg> (%high) : (tensor<1x2x6x4xf32, #nn.batched<0>>) -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %low = nn.slice %t at [0, 0, 0, 0] by [1, 1, 1, 1] : tensor<1x2x6x8xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %c = nn.concat(%n, %low) {axis = 3 : i64} : (tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>) -> tensor<1x2x6x8xf32, #nn.batched<0>>
    %s = nn.elementwise <mul> (%c, %sin) : (tensor<1x2x6x8xf32, #nn.batched<0>>, tensor<f32, #nn.replicated>) -> tensor<1x2x6x8xf32, #nn.batched<0>>
    %r = nn.elementwise <add> (%t, %s) : (tensor<1x2x6x8xf32, #nn.batched<0>>, tensor<1x2x6x8xf32, #nn.batched<0>>) -> tensor<1x2x6x8xf32, #nn.batched<0>>
    %back = nn.transpose %r [0, 2, 1, 3] : tensor<1x2x6x8xf32, #nn.batched<0>> -> tensor<1x6x2x8xf32, #nn.batched<0>>
    %sum = nn.reduce <sum> (%back) {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x6x2x8xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    train.yield %sum : tensor<f32, #nn.partial<sum>> to ["loss"]
  }
}

// -----

// A transposition of rows into columns stays apart.
// CHECK-LABEL: train.step @apart
// CHECK: train.command @transpose_1x8x6xf32
// CHECK: train.command @slice_softmax_1x4x6xf32
train.step @apart inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x6x8xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss = train.phase "micro" loop(%x: tensor<1x6x8xf32, #nn.batched<0>> = %x) -> tensor<f32, #nn.replicated> {
    %t = nn.transpose %x [0, 2, 1] : tensor<1x6x8xf32, #nn.batched<0>> -> tensor<1x8x6xf32, #nn.batched<0>>
    %s = nn.slice %t at [0, 4, 0] by [1, 1, 1] : tensor<1x8x6xf32, #nn.batched<0>> -> tensor<1x4x6xf32, #nn.batched<0>>
    %p = nn.softmax(%s) {axis = 2 : i64} : (tensor<1x4x6xf32, #nn.batched<0>>) -> tensor<1x4x6xf32, #nn.batched<0>>
    %a = nn.reduce <sum> (%p) {axes = array<i64: 0, 1, 2>} : (tensor<1x4x6xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    train.yield %a : tensor<f32, #nn.partial<sum>> to ["loss"]
  }
}
