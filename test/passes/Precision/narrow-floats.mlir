// What is stored in bf16 and what stays f32, from commands to kernels.
// RUN: accum-opt %s -accum-form-commands=mode=fused -accum-narrow-floats -accum-verify-placement | FileCheck %s
// RUN: accum-opt %s -accum-form-commands=mode=fused -accum-narrow-floats=wide-weights -accum-verify-placement | FileCheck %s --check-prefix=WIDE

// With wide weights the product reads the weight itself, and nothing is copied.
// WIDE-NOT: @round_8x4xbf16
// WIDE: train.phase "micro"
// WIDE: %[[WIDE:.*]] = train.load_param @w : tensor<8x4xf32, #nn.replicated>
// WIDE: train.command @contract_1x4xbf16(%{{.*}}, %[[WIDE]]) {{.*}}library = "gemm"} : (tensor<1x8xbf16, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xbf16, #nn.batched<0>>
// WIDE-NOT: @round_8x4xbf16

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained
train.param @frozen : tensor<4x8xf32> from <"m.onnx", 128, 128, 0>
train.param @frequencies : tensor<4x1xf32> from <"m.onnx", 256, 16, 0>

// Trained weights stay f32; frozen ones that a product reads are bf16, short tables are not.
// CHECK: train.param @w : tensor<8x4xf32>
// CHECK: train.param @frozen : tensor<4x8xbf16>
// CHECK: train.param @frequencies : tensor<4x1xf32>

// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "mask"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x8xf32, #nn.batched<0>>, %mask: tensor<1x4xi64, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %run, %places, %low, %angles, %z, %sum_of_w = train.phase "micro" loop(%x: tensor<1x8xf32, #nn.batched<0>> = %x, %mask: tensor<1x4xi64, #nn.batched<0>> = %mask) -> (tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<8x4xf32, #nn.replicated>) {
    // CHECK: train.phase "micro" loop({{.*}}, %[[COPY:[a-z0-9]*]]: tensor<8x4xbf16, #nn.replicated> = %{{.*}})
    // A float input is rounded by a command of its own.
    // CHECK: %[[X:.*]] = train.command @round_1x8xbf16(%{{.*}}) {{.*}} : (tensor<1x8xf32, #nn.batched<0>>) -> tensor<1x8xbf16, #nn.batched<0>>
    %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
    // CHECK: %[[Y:.*]] = train.command @contract_1x4xbf16(%[[X]], %[[COPY]]) {bytes = #train.poly<64, 24>, {{.*}}library = "gemm"}
    %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
    // Scores below a mask may be too large for bf16, and stay f32 until the softmax; so do statistics of rows.
    %count = nn.cast %mask : tensor<1x4xi64, #nn.batched<0>> -> tensor<1x4xf32, #nn.batched<0>>
    %lowest = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #nn.replicated>
    %low = nn.elementwise <mul> (%count, %lowest) : (tensor<1x4xf32, #nn.batched<0>>, tensor<f32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
    // CHECK: train.command @cast_mul_x2_reduce_1x4xf32_bf16(%{{.*}}, %[[Y]]) {{.*}} -> (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xbf16, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
    %s = nn.elementwise <add> (%y, %low) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %p = nn.softmax (%s) {axis = 1 : i64} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %r = nn.reduce <sum> (%p) {axes = array<i64: 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
    // CHECK: train.command @{{.*}}transpose{{.*}} -> tensor<4x1xf32, #nn.batched<1>>
    %t = nn.transpose %s [1, 0] : tensor<1x4xf32, #nn.batched<0>> -> tensor<4x1xf32, #nn.batched<1>>
    %ts = nn.reduce <sum> (%t) {axes = array<i64: 1>} : (tensor<4x1xf32, #nn.batched<1>>) -> tensor<4xf32, #nn.partial<sum>>
    %tl = nn.reduce <sum> (%ts) {axes = array<i64: 0>} : (tensor<4xf32, #nn.partial<sum>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK: train.command @contract_1x8xbf16(%{{.*}}, %{{.*}}) {{.*}} : (tensor<1x4xbf16, #nn.batched<0>>, tensor<4x8xbf16, #nn.replicated>) -> tensor<1x8xbf16, #nn.batched<0>>
    %f = train.load_param @frozen : tensor<4x8xf32, #nn.replicated>
    %z = nn.contract "bk,kn->bn" (%p, %f) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4x8xf32, #nn.replicated>) -> tensor<1x8xf32, #nn.batched<0>>
    // What is scattered, or summed along a row, is built up in memory: f32. A product reads a copy.
    // CHECK: %[[ROW:.*]] = train.command @{{.*}}(%{{.*}}) {{.*}} -> tensor<1x8xf32, #nn.batched<0>>
    // CHECK: %[[SUMS:.*]] = train.command @round_1x8xbf16(%[[ROW]])
    // CHECK: train.command @contract_1x4xbf16(%[[SUMS]], %[[COPY]])
    %run = nn.cumsum(%z) {axis = 1 : i64} : (tensor<1x8xf32, #nn.batched<0>>) -> tensor<1x8xf32, #nn.batched<0>>
    %rw = nn.contract "bk,kn->bn" (%run, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
    %rs = nn.reduce <sum> (%rw) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK: train.command @scatter_add_1x4xf32_bf16({{.*}} -> tensor<1x4xf32, #nn.batched<0>>
    %places = nn.constant {value = dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi64>} : tensor<8xi64, #nn.replicated>
    %sc = nn.scatter_add(%places, %z) {axis = 1 : i64} : (tensor<8xi64, #nn.replicated>, tensor<1x8xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %ss = nn.reduce <sum> (%sc) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // Angles are products of what nobody learned: f32.
    // CHECK: train.command @contract_1x4x4xf32(%{{.*}}, %{{.*}}) {{.*}} -> tensor<1x4x4xf32, #nn.batched<0>>
    %q = train.load_param @frequencies : tensor<4x1xf32, #nn.replicated>
    %c = nn.reshape %count : tensor<1x4xf32, #nn.batched<0>> -> tensor<1x1x4xf32, #nn.batched<0>>
    %angles = nn.contract "fo,bop->bfp" (%q, %c) : (tensor<4x1xf32, #nn.replicated>, tensor<1x1x4xf32, #nn.batched<0>>) -> tensor<1x4x4xf32, #nn.batched<0>>
    %as = nn.reduce <sum> (%angles) {axes = array<i64: 0, 1, 2>} : (tensor<1x4x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    %zs = nn.reduce <sum> (%z) {axes = array<i64: 0, 1>} : (tensor<1x8xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    %l = nn.reduce <sum> (%r) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // Sums over samples are f32, straight into the accumulator.
    // CHECK: train.command @contract_8x4xf32_bf16(%[[X]], %{{.*}}) {accumulate = array<i64: 0>, {{.*}}library = "gemm"} : (tensor<1x8xbf16, #nn.batched<0>>, tensor<1x4xbf16, #nn.batched<0>>) -> tensor<8x4xf32, #nn.partial<sum>>
    %g = nn.contract "bk,bn->kn" (%x, %p) : (tensor<1x8xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<8x4xf32, #nn.partial<sum>>
    train.yield %l, %rs, %ss, %tl, %as, %zs, %g : tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<8x4xf32, #nn.partial<sum>> to ["loss", "run", "places", "low", "angles", "z", @w]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %g: tensor<8x4xf32, #nn.replicated> = %sum_of_w) {
    // CHECK: train.command @sgd_1x64xf32(
    train.update "sgd" @w, %g, %hyper : tensor<8x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}

// Kernels widen what they read and round what they write.
// CHECK-LABEL: func.func private @contract_1x4xbf16(
// CHECK-NEXT: nn.contract "bk,kn->bn" (%{{.*}}, %{{.*}}) : (tensor<1x8xbf16, #nn.batched<0>>, tensor<8x4xbf16, #nn.replicated>) -> tensor<1x4xbf16, #nn.batched<0>>
