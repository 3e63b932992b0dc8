// Attention as products and rows; numbers are in DecomposeAttentionTest.cpp.
// RUN: accum-opt %s -accum-decompose-attention -split-input-file | FileCheck %s
// RUN: accum-opt %s -accum-decompose-attention=tiles -split-input-file | FileCheck %s --check-prefix=TILES

!q = tensor<1x2x6x4xf32, #nn.batched<0>>
!rows = tensor<1x2x6xf32, #nn.batched<0>>

// Causal, no mask: the derivative has the weights from the kept logarithm.
// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[Q:.*]]: tensor<1x2x6x4xf32, #nn.batched<0>>, %[[K:.*]]: tensor<1x2x6x4xf32, #nn.batched<0>>, %[[V:.*]]: tensor<1x2x6x4xf32, #nn.batched<0>>, %[[DY:.*]]: tensor<1x2x6x4xf32, #nn.batched<0>>)
func.func @causal(%q: !q, %k: !q, %v: !q, %dy: !q) -> (!q, !q, !q, !q) {
  // CHECK: %[[S:.*]] = nn.contract "bhqd,bhkd->bhqk" (%[[Q]], %[[K]])
  // CHECK: nn.elementwise <le> ({{.*}}) : ({{.*}}) -> tensor<1x2x6x6xi1, #nn.batched<0>>
  // CHECK: nn.elementwise <select>
  // CHECK: nn.reduce <max>
  // CHECK: nn.elementwise <exp> ({{.*}}) {accum.part = "attention_weights"}
  // CHECK: %[[SUM:.*]] = nn.reduce <sum>
  // CHECK: nn.elementwise <log> (%[[SUM]])
  // CHECK: %[[LSE:.*]] = nn.elementwise <add>
  // CHECK: %[[P:.*]] = nn.elementwise <mul>
  // CHECK: %[[Y:.*]] = nn.contract "bhqk,bhke->bhqe" (%[[P]], %[[V]])
  // CHECK: %[[AGAIN:.*]] = nn.contract "bhqd,bhkd->bhqk" (%[[Q]], %[[K]])
  // CHECK-NOT: nn.reduce <max>
  // CHECK: nn.reshape %[[LSE]] : tensor<1x2x6xf32, #nn.batched<0>> -> tensor<1x2x6x1xf32, #nn.batched<0>>
  // CHECK: %[[PB:.*]] = nn.elementwise <exp>
  // CHECK: nn.contract "bhqe,bhke->bhqk" (%[[DY]], %[[V]])
  // CHECK: %[[DS:.*]] = nn.elementwise <mul> ({{.*}}) {accum.part = "attention_weights_bwd"}
  // CHECK: %[[DQ:.*]] = nn.contract "bhqk,bhkd->bhqd" (%[[DS]], %[[K]])
  // CHECK: %[[DK:.*]] = nn.contract "bhqk,bhqd->bhkd" (%[[DS]], %[[Q]])
  // CHECK: %[[DV:.*]] = nn.contract "bhqk,bhqe->bhke" (%[[PB]], %[[DY]])
  // CHECK: return %[[Y]], %[[DQ]], %[[DK]], %[[DV]]
  %y, %lse = nn.attention(%q, %k, %v) <infinite> causal {scale = 0.5 : f64} : (!q, !q, !q) -> (!q, !rows)
  %d:3 = nn.attention_bwd(%q, %k, %v, %y, %lse, %dy) <infinite> causal {scale = 0.5 : f64} : (!q, !q, !q, !q, !rows, !q) -> (!q, !q, !q)
  return %y, %d#0, %d#1, %d#2 : !q, !q, !q, !q
}

// -----

!q = tensor<1x4x6x8xf32, #nn.batched<0>>
!k = tensor<1x2x6x8xf32, #nn.batched<0>>
!stored = tensor<1x6x4x8xf32, #nn.batched<0>>
!rows = tensor<1x4x6xf32, #nn.batched<0>>

// Grouped heads: keys and values as they are; rows before heads are read and written in place.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[Q:.*]]: tensor<1x6x4x8xf32, #nn.batched<0>>, %[[K:.*]]: tensor<1x2x6x8xf32, #nn.batched<0>>, %[[V:.*]]: tensor<1x2x6x8xf32, #nn.batched<0>>, %[[M:.*]]: tensor<1x1x1x6xi1, #nn.batched<0>>)
func.func @grouped(%q0: !stored, %k: !k, %v: !k, %m: tensor<1x1x1x6xi1, #nn.batched<0>>) -> !stored {
  // CHECK: %[[SPLIT:.*]] = nn.reshape %[[Q]] : tensor<1x6x4x8xf32, #nn.batched<0>> -> tensor<1x6x2x2x8xf32, #nn.batched<0>>
  // CHECK: %[[QT:.*]] = nn.transpose %[[SPLIT]] [0, 2, 3, 1, 4]
  // CHECK: nn.reshape %[[M]] : tensor<1x1x1x6xi1, #nn.batched<0>> -> tensor<1x1x1x1x6xi1, #nn.batched<0>>
  // CHECK: nn.contract "bgrqd,bgkd->bgrqk" (%[[QT]], %[[K]])
  // The lowest number is added to what is hidden; nobody reads the logarithm.
  // CHECK: nn.constant {value = dense<-3.40282347E+38> : tensor<f32>}
  // CHECK-NOT: nn.elementwise <log>
  // CHECK: %[[Y:.*]] = nn.contract "bgrqk,bgke->bqgre" (%{{.*}}, %[[V]])
  // CHECK: %[[R:.*]] = nn.reshape %[[Y]] : tensor<1x6x2x2x8xf32, #nn.batched<0>> -> tensor<1x6x4x8xf32, #nn.batched<0>>
  // CHECK: return %[[R]]
  %q = nn.transpose %q0 [0, 2, 1, 3] : !stored -> !q
  %y, %lse = nn.attention(%q, %k, %v mask %m) <lowered> {scale = 0.5 : f64} : (!q, !k, !k, tensor<1x1x1x6xi1, #nn.batched<0>>) -> (!q, !rows)
  %r = nn.transpose %y [0, 2, 1, 3] : !q -> !stored
  return %r : !stored
}

// -----

!q = tensor<1x2x6x4xf64, #nn.batched<0>>
!rows = tensor<1x2x6xf64, #nn.batched<0>>

// Under a mask, rows may hold the lowest number only: a second softmax instead of the logarithm. Where hidden scores were
// replaced they get no cotangents.
// CHECK-LABEL: func.func @replaced
func.func @replaced(%q: !q, %k: !q, %v: !q, %dy: !q, %y: !q, %lse: !rows, %m: tensor<1x1x6x6xi1, #nn.replicated>) -> !q {
  // CHECK: nn.reduce <max>
  // CHECK: nn.elementwise <exp> ({{.*}}) {accum.part = "attention_weights"}
  // CHECK: %[[DS:.*]] = nn.elementwise <mul> ({{.*}}) {accum.part = "attention_weights_bwd"}
  // CHECK: %[[ZERO:.*]] = nn.constant {value = dense<0.000000e+00> : tensor<f64>}
  // CHECK: %[[KEPT:.*]] = nn.elementwise <select> (%{{.*}}, %[[DS]], %[[ZERO]])
  // CHECK: nn.contract "bhqk,bhqd->bhkd" (%[[KEPT]], %{{.*}})
  // CHECK-NOT: nn.contract
  // CHECK: return
  %d:3 = nn.attention_bwd(%q, %k, %v, %y, %lse, %dy mask %m) <replaced> causal {scale = 0.5 : f64} : (!q, !q, !q, !q, !rows, !q, tensor<1x1x6x6xi1, #nn.replicated>) -> (!q, !q, !q)
  return %d#1 : !q
}

// -----

!wide = tensor<1x2x6x257xf32, #nn.batched<0>>

// What has a kernel of its own stays where that is asked for: f32, 256 features at most.
// TILES-LABEL: func.func @causal
// TILES: nn.attention(
// TILES: nn.attention_bwd(
// TILES-NOT: nn.contract
// TILES-LABEL: func.func @replaced
// TILES: nn.contract {{.*}}xf64
// TILES-LABEL: func.func @wide
// TILES-NOT: nn.attention(
// TILES: nn.contract
// TILES: return
// CHECK-LABEL: func.func @wide
// CHECK-NOT: nn.attention(
func.func @wide(%q: !wide, %k: !wide, %v: !wide) -> !wide {
  %y, %lse = nn.attention(%q, %k, %v) <infinite> {scale = 0.5 : f64} : (!wide, !wide, !wide) -> (!wide, tensor<1x2x6xf32, #nn.batched<0>>)
  return %y : !wide
}
