// RUN: accum-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(accum-expand-kernels),accum-kernels-to-threads)' | FileCheck %s

// A thread per four elements, which it moves at once: 2000 elements take two blocks of 256.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_add(
// CHECK-SAME: %arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr
// CHECK-SAME: accum.entry = array<i64: 0, 2, 256, 3>
// CHECK-SAME: passthrough = {{.*}}"nvvm.maxntid", "256"
// CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() {{.*}}#llvm.constant_range<i32, 0, 256>
// CHECK-NOT: shfl
// CHECK-NOT: barrier
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func private @add(%a: tensor<2000xf32>, %b: tensor<2000xf32>) -> tensor<2000xf32> attributes {accum.kernel = 0 : i64} {
  %c = nn.elementwise <add> (%a, %b) : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  return %c : tensor<2000xf32>
}

// -----

// One by one: an odd number of columns, operands that may start anywhere, neighbours that are read apart.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_odd(
// CHECK-SAME: accum.entry = array<i64: 0, 2, 256, 2>
// CHECK-NOT: vector<4xf32>
// CHECK: llvm.return
func.func private @odd(%a: tensor<333xf32>) -> tensor<333xf32> attributes {accum.kernel = 0 : i64} {
  %c = nn.elementwise <neg> (%a) : (tensor<333xf32>) -> tensor<333xf32>
  return %c : tensor<333xf32>
}
// CHECK-LABEL: llvm.func ptx_kernelcc @k1_shifted(
// CHECK-NOT: vector<4xf32>
// CHECK: llvm.return
func.func private @shifted(%a: tensor<2000xf32>) -> tensor<2000xf32> attributes {accum.kernel = 1 : i64, accum.shifted} {
  %c = nn.elementwise <neg> (%a) : (tensor<2000xf32>) -> tensor<2000xf32>
  return %c : tensor<2000xf32>
}
// CHECK-LABEL: llvm.func ptx_kernelcc @k2_turned(
// CHECK-NOT: vector<4xf32>
// CHECK: llvm.return
func.func private @turned(%a: tensor<40x40xf32>) -> tensor<40x40xf32> attributes {accum.kernel = 2 : i64} {
  %c = nn.transpose %a [1, 0] : tensor<40x40xf32> -> tensor<40x40xf32>
  return %c : tensor<40x40xf32>
}
// A slice that starts between multiples of 16 bytes: vectors by single loads, a store at once.
// CHECK-LABEL: llvm.func ptx_kernelcc @k3_behind(
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func private @behind(%a: tensor<44xf32>) -> tensor<40xf32> attributes {accum.kernel = 3 : i64} {
  %c = nn.slice %a at [1] by [1] : tensor<44xf32> -> tensor<40xf32>
  return %c : tensor<40xf32>
}

// -----

// Many short rows: a warp each, eight of them in a block. A lane adds two numbers: the sum is in f32, one word in five
// shuffles.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_rows(
// CHECK-SAME: accum.entry = array<i64: 0, 128, 256, 2>
// CHECK-COUNT-5: shfl.sync.bfly
// CHECK-NOT: shfl
// CHECK-NOT: barrier
func.func private @rows(%a: tensor<1024x64xf32>) -> tensor<1024x64xf32> attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 1>} : (tensor<1024x64xf32>) -> tensor<1024xf32>
  %c = nn.reshape %s : tensor<1024xf32> -> tensor<1024x1xf32>
  %r = nn.elementwise <sub> (%a, %c) : (tensor<1024x64xf32>, tensor<1024x1xf32>) -> tensor<1024x64xf32>
  return %r : tensor<1024x64xf32>
}

// -----

// A lane that adds more than 256 numbers does so in f64: two words in five shuffles.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_many(
// CHECK-SAME: accum.entry = array<i64: 0, 1, 256, 2>
// CHECK: arith.extf {{.*}} : f32 to f64
// CHECK-COUNT-10: shfl.sync.bfly
// CHECK: barrier.cta.sync
func.func private @many(%a: tensor<1x70000xf32>) -> tensor<1xf32> attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 1>} : (tensor<1x70000xf32>) -> tensor<1xf32>
  return %s : tensor<1xf32>
}

// -----

// A long row is a block's: shuffles, a barrier before and behind the sums of warps.
// CHECK: llvm.mlir.global internal @k0_long$shared() {addr_space = 3
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_long(
// CHECK-SAME: accum.entry = array<i64: 0, 7, 256, 2>
// CHECK-COUNT-5: shfl.sync.bfly
// CHECK: barrier.cta.sync
// CHECK: barrier.cta.sync
// CHECK: scf.for
func.func private @long(%a: tensor<7x9000xf32>) -> tensor<7x9000xf32> attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <max> (%a) {axes = array<i64: 1>} : (tensor<7x9000xf32>) -> tensor<7xf32>
  %c = nn.reshape %s : tensor<7xf32> -> tensor<7x1xf32>
  %r = nn.elementwise <sub> (%a, %c) : (tensor<7x9000xf32>, tensor<7x1xf32>) -> tensor<7x9000xf32>
  return %r : tensor<7x9000xf32>
}

// -----

// Sums of columns, added to what is there: eight columns a block, four to a thread, 256 threads behind each other. The last
// block's spare threads stay for the barriers and do not write.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_columns(
// CHECK-SAME: %arg2: !llvm.ptr
// CHECK-SAME: accum.entry = array<i64: 0, 13, 512, 3>
// CHECK: llvm.load %arg2 {{.*}} -> i8
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-10: barrier.cta.sync
// CHECK-NOT: barrier
// CHECK: scf.if
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func private @columns(%a: tensor<500x100xf32>) -> tensor<100xf32> attributes {accum.kernel = 0 : i64, accumulate = array<i64: 0>} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 0>} : (tensor<500x100xf32>) -> tensor<100xf32>
  return %s : tensor<100xf32>
}

// -----

// Attention in tiles: two of them in 64 queries a head; q, k and v are read where they lie in one buffer, 16 bytes at a
// time. Its numbers are in AttentionKernelTest.cpp.
// CHECK: llvm.mlir.global internal @k0_attention$shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_attention(
// CHECK-SAME: %arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr
// CHECK-SAME: accum.entry = array<i64: 0, 12, 128, 3>
// CHECK-SAME: passthrough = {{.*}}"nvvm.maxntid", "128"
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: scf.for
// CHECK: barrier.cta.sync
// CHECK: math.fma {{.*}} : f32
// CHECK: shfl.sync.bfly
// CHECK: math.fma {{.*}} : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func private @attention(%x: tensor<3x100x48xf32>) -> (tensor<3x2x100x8xf32>, tensor<3x2x100xf32>) attributes {accum.kernel = 0 : i64} {
  %a = nn.reshape %x : tensor<3x100x48xf32> -> tensor<3x100x3x2x8xf32>
  %q0 = nn.slice %a at [0, 0, 0, 0, 0] by [1, 1, 1, 1, 1] : tensor<3x100x3x2x8xf32> -> tensor<3x100x1x2x8xf32>
  %k0 = nn.slice %a at [0, 0, 1, 0, 0] by [1, 1, 1, 1, 1] : tensor<3x100x3x2x8xf32> -> tensor<3x100x1x2x8xf32>
  %v0 = nn.slice %a at [0, 0, 2, 0, 0] by [1, 1, 1, 1, 1] : tensor<3x100x3x2x8xf32> -> tensor<3x100x1x2x8xf32>
  %q1 = nn.reshape %q0 : tensor<3x100x1x2x8xf32> -> tensor<3x100x2x8xf32>
  %k1 = nn.reshape %k0 : tensor<3x100x1x2x8xf32> -> tensor<3x100x2x8xf32>
  %v1 = nn.reshape %v0 : tensor<3x100x1x2x8xf32> -> tensor<3x100x2x8xf32>
  %q = nn.transpose %q1 [0, 2, 1, 3] : tensor<3x100x2x8xf32> -> tensor<3x2x100x8xf32>
  %k = nn.transpose %k1 [0, 2, 1, 3] : tensor<3x100x2x8xf32> -> tensor<3x2x100x8xf32>
  %v = nn.transpose %v1 [0, 2, 1, 3] : tensor<3x100x2x8xf32> -> tensor<3x2x100x8xf32>
  %y, %lse = nn.attention(%q, %k, %v) <infinite> causal {scale = 0.5 : f64} : (tensor<3x2x100x8xf32>, tensor<3x2x100x8xf32>, tensor<3x2x100x8xf32>) -> (tensor<3x2x100x8xf32>, tensor<3x2x100xf32>)
  return %y, %lse : tensor<3x2x100x8xf32>, tensor<3x2x100xf32>
}

// -----

// 99 columns lie on no multiples of 16 bytes: one to a thread, eight a block, 64 threads behind each other.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_odd_columns(
// CHECK-SAME: accum.entry = array<i64: 0, 13, 512, 2>
// CHECK-NOT: vector<4xf32>
// CHECK-COUNT-8: barrier.cta.sync
// CHECK-NOT: barrier
func.func private @odd_columns(%a: tensor<500x99xf32>) -> tensor<99xf32> attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 0>} : (tensor<500x99xf32>) -> tensor<99xf32>
  return %s : tensor<99xf32>
}

// -----

// 16-bit floats by eight: sums of columns, two threads beside each other for a sector of 32 bytes; elements.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_narrow_columns(
// CHECK-SAME: accum.entry = array<i64: 0, 6, 512, 2>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xf32>, !llvm.ptr
func.func private @narrow_columns(%a: tensor<500x96xbf16>) -> tensor<96xf32> attributes {accum.kernel = 0 : i64} {
  %w = nn.cast %a : tensor<500x96xbf16> -> tensor<500x96xf32>
  %s = nn.reduce <sum> (%w) {axes = array<i64: 0>} : (tensor<500x96xf32>) -> tensor<96xf32>
  return %s : tensor<96xf32>
}
// CHECK-LABEL: llvm.func ptx_kernelcc @k1_narrow(
// CHECK-SAME: accum.entry = array<i64: 1, 1, 256, 3>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
func.func private @narrow(%a: tensor<2000xbf16>, %b: tensor<2000xf32>) -> tensor<2000xbf16> attributes {accum.kernel = 1 : i64} {
  %w = nn.cast %a : tensor<2000xbf16> -> tensor<2000xf32>
  %c = nn.elementwise <add> (%w, %b) : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  %n = nn.cast %c : tensor<2000xf32> -> tensor<2000xbf16>
  return %n : tensor<2000xbf16>
}

// -----

// Rows of odd width that lie apart are taken by 16 bytes, what is left behind the last whole vector one by one. In a row that
// reduces over itself by the team's first threads:
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_padded_rows(
// CHECK-SAME: accum.entry = array<i64: 0, 7, 256, 2>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK-COUNT-5: shfl.sync.bfly
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr
func.func private @padded_rows(%a: tensor<7x9001xbf16> {accum.pitch = 9024 : i64}) -> (tensor<7x9001xbf16> {accum.pitch = 9024 : i64}) attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <max> (%a) {axes = array<i64: 1>} : (tensor<7x9001xbf16>) -> tensor<7xbf16>
  %c = nn.reshape %s : tensor<7xbf16> -> tensor<7x1xbf16>
  %r = nn.elementwise <sub> (%a, %c) : (tensor<7x9001xbf16>, tensor<7x1xbf16>) -> tensor<7x9001xbf16>
  return %r : tensor<7x9001xbf16>
}
// Elements and sums of columns by blocks of their own: 60 rows of 16 vectors, and 60 elements.
// CHECK-LABEL: llvm.func ptx_kernelcc @k1_padded_elements(
// CHECK-SAME: accum.entry = array<i64: 1, 5, 256, 2>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
func.func private @padded_elements(%a: tensor<60x65xf32> {accum.pitch = 72 : i64}) -> (tensor<60x65xf32> {accum.pitch = 72 : i64}) attributes {accum.kernel = 1 : i64} {
  %c = nn.elementwise <neg> (%a) : (tensor<60x65xf32>) -> tensor<60x65xf32>
  return %c : tensor<60x65xf32>
}
// CHECK-LABEL: llvm.func ptx_kernelcc @k2_padded_columns(
// CHECK-SAME: accum.entry = array<i64: 2, 13, 512, 2>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
func.func private @padded_columns(%a: tensor<500x97xf32> {accum.pitch = 104 : i64}) -> tensor<97xf32> attributes {accum.kernel = 2 : i64} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 0>} : (tensor<500x97xf32>) -> tensor<97xf32>
  return %s : tensor<97xf32>
}
// Rows of which one number is left, where all threads have their 16 bytes.
// CHECK-LABEL: llvm.func ptx_kernelcc @k3_largest(
// CHECK-SAME: accum.entry = array<i64: 3, 7, 256, 2>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK-COUNT-5: shfl.sync.bfly
func.func private @largest(%a: tensor<7x9001xbf16> {accum.pitch = 9024 : i64}) -> tensor<7xbf16> attributes {accum.kernel = 3 : i64} {
  %s = nn.reduce <max> (%a) {axes = array<i64: 1>} : (tensor<7x9001xbf16>) -> tensor<7xbf16>
  return %s : tensor<7xbf16>
}
// CHECK-LABEL: llvm.func ptx_kernelcc @k4_sums(
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-NOT: llvm.load %{{.*}} -> f32
// CHECK: llvm.return
func.func private @sums(%a: tensor<1024x256xf32>) -> tensor<1024xf32> attributes {accum.kernel = 4 : i64} {
  %s = nn.reduce <sum> (%a) {axes = array<i64: 1>} : (tensor<1024x256xf32>) -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}
