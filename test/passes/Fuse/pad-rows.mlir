// What a matrix product touches gets rows that begin on round addresses.
// RUN: accum-opt %s --split-input-file --accum-pad-rows | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>

// 50257 bf16 are 785 cache lines and 34 bytes: 50304 fill the last one. The cross-entropy's in-place cotangent stays one.
// CHECK: func.func private @product(%{{.*}}: tensor<4x8xbf16, #nn.batched<0>>, %{{.*}}: tensor<50257x8xbf16, #nn.replicated>) -> (tensor<4x50257xbf16, #nn.batched<0>> {accum.pitch = 50304 : i64})
func.func private @product(%x: tensor<4x8xbf16, #rows>, %w: tensor<50257x8xbf16, #same>) -> tensor<4x50257xbf16, #rows> {
  %0 = nn.contract "rk,vk->rv" (%x, %w) : (tensor<4x8xbf16, #rows>, tensor<50257x8xbf16, #same>) -> tensor<4x50257xbf16, #rows>
  return %0 : tensor<4x50257xbf16, #rows>
}
// CHECK: func.func private @exp(%{{.*}}: tensor<4x50257xbf16, #nn.batched<0>> {accum.pitch = 50304 : i64}) -> (tensor<4x50257xbf16, #nn.batched<0>> {accum.pitch = 50304 : i64})
func.func private @exp(%x: tensor<4x50257xbf16, #rows>) -> tensor<4x50257xbf16, #rows> {
  %0 = nn.elementwise <exp> (%x) : (tensor<4x50257xbf16, #rows>) -> tensor<4x50257xbf16, #rows>
  return %0 : tensor<4x50257xbf16, #rows>
}
// A sum over samples lies in the state, as it is.
// CHECK: func.func private @gradient(%{{.*}}: tensor<4x50257xbf16, #nn.batched<0>> {accum.pitch = 50304 : i64}, %{{.*}}: tensor<4x8xbf16, #nn.batched<0>>) -> tensor<50257x8xf32, #nn.partial<sum>> {
func.func private @gradient(%z: tensor<4x50257xbf16, #rows>, %x: tensor<4x8xbf16, #rows>) -> tensor<50257x8xf32, #sum> {
  %0 = nn.contract "rv,rk->vk" (%z, %x) : (tensor<4x50257xbf16, #rows>, tensor<4x8xbf16, #rows>) -> tensor<50257x8xf32, #sum>
  return %0 : tensor<50257x8xf32, #sum>
}
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "w"}, {name = "y"}] {
^bb0(%x: tensor<4x8xbf16, #rows>, %w: tensor<50257x8xbf16, #same>, %y: tensor<4x50257xbf16, #rows>):
  %sum_of_w = train.phase "micro" loop(%x: tensor<4x8xbf16, #rows> = %x, %w: tensor<50257x8xbf16, #same> = %w, %y: tensor<4x50257xbf16, #rows> = %y) -> tensor<50257x8xf32, #same> {
    %z = train.command @product(%x, %w) {id = 0, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xbf16, #rows>, tensor<50257x8xbf16, #same>) -> tensor<4x50257xbf16, #rows>
    // CHECK: train.command @exp(
    // CHECK-SAME: may_alias = [array<i64: 0, 0>]
    %e = train.command @exp(%z) {id = 1, may_alias = [array<i64: 0, 0>], flops = #cost, bytes = #cost} : (tensor<4x50257xbf16, #rows>) -> tensor<4x50257xbf16, #rows>
    %g = train.command @gradient(%e, %x) {accumulate = array<i64: 0>, id = 2, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x50257xbf16, #rows>, tensor<4x8xbf16, #rows>) -> tensor<50257x8xf32, #sum>
    // CHECK: train.command @exp_0(
    %u = train.command @exp(%y) {id = 3, flops = #cost, bytes = #cost} : (tensor<4x50257xbf16, #rows>) -> tensor<4x50257xbf16, #rows>
    train.yield %g : tensor<50257x8xf32, #sum> to [@w]
  }
}
// The same kernel for a value that no product touches is another one.
// CHECK: func.func private @exp_0(%{{.*}}: tensor<4x50257xbf16, #nn.batched<0>>) -> tensor<4x50257xbf16, #nn.batched<0>> {

// -----

#rows = #nn.batched<0>
#same = #nn.replicated
#cost = #train.poly<0, 0>
train.param @w : tensor<8x263xf32> from #train.file<"m.onnx", 0, 0, 0>

// A copy that the prologue keeps, seen by the micro region in the shape of the product; 264 is all that 263 elements get.
// CHECK: func.func private @round(%{{.*}}) -> (tensor<8x263xbf16, #nn.replicated> {accum.pitch = 264 : i64})
func.func private @round(%w: tensor<8x263xf32, #same>) -> tensor<8x263xbf16, #same> {
  %0 = nn.cast %w : tensor<8x263xf32, #same> -> tensor<8x263xbf16, #same>
  return %0 : tensor<8x263xbf16, #same>
}
// CHECK: func.func private @product(%{{.*}}: tensor<4x8xbf16, #nn.batched<0>>, %{{.*}}: tensor<8x263xbf16, #nn.replicated> {accum.pitch = 264 : i64}) -> (tensor<4x263xbf16, #nn.batched<0>> {accum.pitch = 264 : i64})
func.func private @product(%x: tensor<4x8xbf16, #rows>, %w: tensor<8x263xbf16, #same>) -> tensor<4x263xbf16, #rows> {
  %0 = nn.contract "rk,kv->rv" (%x, %w) : (tensor<4x8xbf16, #rows>, tensor<8x263xbf16, #same>) -> tensor<4x263xbf16, #rows>
  return %0 : tensor<4x263xbf16, #rows>
}
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4x8xbf16, #rows>):
  %kept0 = train.phase "prologue" once() -> tensor<8x263xbf16, #same> {
    %w = train.load_param @w : tensor<8x263xf32, #same>
    %c = train.command @round(%w) {id = 0, flops = #cost, bytes = #cost} : (tensor<8x263xf32, #same>) -> tensor<8x263xbf16, #same>
    train.yield %c : tensor<8x263xbf16, #same>
  }
  train.phase "micro" loop(%x: tensor<4x8xbf16, #rows> = %x, %w: tensor<8x263xbf16, #same> = %kept0) {
    %z = train.command @product(%x, %w) {id = 1, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xbf16, #rows>, tensor<8x263xbf16, #same>) -> tensor<4x263xbf16, #rows>
    train.yield
  }
}

// -----

#rows = #nn.batched<0>
#same = #nn.replicated
#cost = #train.poly<0, 0>

// A product that is written with its bias: one row has no pitch.
// CHECK: func.func private @with_bias(%{{.*}}: tensor<4x8xf32, #nn.batched<0>>, %{{.*}}: tensor<8x131xf32, #nn.replicated>, %{{.*}}: tensor<131xf32, #nn.replicated>) -> (tensor<4x131xf32, #nn.batched<0>> {accum.pitch = 136 : i64})
func.func private @with_bias(%x: tensor<4x8xf32, #rows>, %w: tensor<8x131xf32, #same>, %b: tensor<131xf32, #same>) -> tensor<4x131xf32, #rows> {
  %0 = nn.contract "rk,kv->rv" (%x, %w) : (tensor<4x8xf32, #rows>, tensor<8x131xf32, #same>) -> tensor<4x131xf32, #rows>
  %1 = nn.elementwise <add> (%0, %b) : (tensor<4x131xf32, #rows>, tensor<131xf32, #same>) -> tensor<4x131xf32, #rows>
  return %1 : tensor<4x131xf32, #rows>
}
train.step @step inputs [{name = "x"}, {name = "w"}, {name = "b"}] {
^bb0(%x: tensor<4x8xf32, #rows>, %w: tensor<8x131xf32, #same>, %b: tensor<131xf32, #same>):
  train.phase "micro" loop(%x: tensor<4x8xf32, #rows> = %x, %w: tensor<8x131xf32, #same> = %w, %b: tensor<131xf32, #same> = %b) {
    %z = train.command @with_bias(%x, %w, %b) {id = 0, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xf32, #rows>, tensor<8x131xf32, #same>, tensor<131xf32, #same>) -> tensor<4x131xf32, #rows>
    train.yield
  }
}

// -----

#rows = #nn.batched<0>
#same = #nn.replicated
#cost = #train.poly<0, 0>

// Left alone: rows of round width, short rows, rows that somebody sees in another width, a summed axis that would come apart.
// CHECK-NOT: accum.pitch
func.func private @round_width(%x: tensor<4x8xf32, #rows>, %w: tensor<8x264xf32, #same>) -> tensor<4x264xf32, #rows> {
  %0 = nn.contract "rk,kv->rv" (%x, %w) : (tensor<4x8xf32, #rows>, tensor<8x264xf32, #same>) -> tensor<4x264xf32, #rows>
  return %0 : tensor<4x264xf32, #rows>
}
func.func private @short(%x: tensor<4x8xf32, #rows>, %w: tensor<8x63xf32, #same>) -> tensor<4x63xf32, #rows> {
  %0 = nn.contract "rk,kv->rv" (%x, %w) : (tensor<4x8xf32, #rows>, tensor<8x63xf32, #same>) -> tensor<4x63xf32, #rows>
  return %0 : tensor<4x63xf32, #rows>
}
func.func private @seen(%x: tensor<4x8xf32, #rows>, %w: tensor<8x129xf32, #same>) -> tensor<4x129xf32, #rows> {
  %0 = nn.contract "rk,kv->rv" (%x, %w) : (tensor<4x8xf32, #rows>, tensor<8x129xf32, #same>) -> tensor<4x129xf32, #rows>
  return %0 : tensor<4x129xf32, #rows>
}
func.func private @exp(%x: tensor<12x43xf32, #rows>) -> tensor<12x43xf32, #rows> {
  %0 = nn.elementwise <exp> (%x) : (tensor<12x43xf32, #rows>) -> tensor<12x43xf32, #rows>
  return %0 : tensor<12x43xf32, #rows>
}
func.func private @copy(%x: tensor<4x3x129xf32, #rows>) -> tensor<4x3x129xf32, #rows> {
  %0 = nn.elementwise <exp> (%x) : (tensor<4x3x129xf32, #rows>) -> tensor<4x3x129xf32, #rows>
  return %0 : tensor<4x3x129xf32, #rows>
}
func.func private @two_summed(%x: tensor<4x3x129xf32, #rows>, %w: tensor<3x129x8xf32, #same>) -> tensor<4x8xf32, #rows> {
  %0 = nn.contract "rst,stk->rk" (%x, %w) : (tensor<4x3x129xf32, #rows>, tensor<3x129x8xf32, #same>) -> tensor<4x8xf32, #rows>
  return %0 : tensor<4x8xf32, #rows>
}
train.step @step inputs [{name = "x"}, {name = "a"}, {name = "b"}, {name = "c"}, {name = "d"}, {name = "e"}] {
^bb0(%x: tensor<4x8xf32, #rows>, %a: tensor<8x264xf32, #same>, %b: tensor<8x63xf32, #same>, %c: tensor<8x129xf32, #same>, %d: tensor<4x3x129xf32, #rows>, %e: tensor<3x129x8xf32, #same>):
  train.phase "micro" loop(%x: tensor<4x8xf32, #rows> = %x, %a: tensor<8x264xf32, #same> = %a, %b: tensor<8x63xf32, #same> = %b, %c: tensor<8x129xf32, #same> = %c, %d: tensor<4x3x129xf32, #rows> = %d, %e: tensor<3x129x8xf32, #same> = %e) {
    %0 = train.command @round_width(%x, %a) {id = 0, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xf32, #rows>, tensor<8x264xf32, #same>) -> tensor<4x264xf32, #rows>
    %1 = train.command @short(%x, %b) {id = 1, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xf32, #rows>, tensor<8x63xf32, #same>) -> tensor<4x63xf32, #rows>
    %2 = train.command @seen(%x, %c) {id = 2, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x8xf32, #rows>, tensor<8x129xf32, #same>) -> tensor<4x129xf32, #rows>
    %3 = nn.reshape %2 : tensor<4x129xf32, #rows> -> tensor<12x43xf32, #rows>
    %4 = train.command @exp(%3) {id = 3, flops = #cost, bytes = #cost} : (tensor<12x43xf32, #rows>) -> tensor<12x43xf32, #rows>
    %5 = train.command @copy(%d) {id = 4, flops = #cost, bytes = #cost} : (tensor<4x3x129xf32, #rows>) -> tensor<4x3x129xf32, #rows>
    %6 = train.command @two_summed(%5, %e) {id = 5, library = "gemm", flops = #cost, bytes = #cost} : (tensor<4x3x129xf32, #rows>, tensor<3x129x8xf32, #same>) -> tensor<4x8xf32, #rows>
    train.yield
  }
}
