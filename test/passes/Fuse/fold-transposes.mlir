// RUN: accum-opt %s -accum-fold-transposes | FileCheck %s

// CHECK-LABEL: func.func @read
// CHECK-SAME: (%[[Q:.*]]: tensor<1x24x4x8xf32>, %[[K:.*]]: tensor<1x24x4x8xf32>)
func.func @read(%q: tensor<1x24x4x8xf32>, %k: tensor<1x24x4x8xf32>) -> tensor<1x4x24x24xf32> {
  // CHECK-NEXT: nn.contract "bshd,bthd->bhst" (%[[Q]], %[[K]])
  %0 = nn.transpose %q [0, 2, 1, 3] : tensor<1x24x4x8xf32> -> tensor<1x4x24x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : tensor<1x24x4x8xf32> -> tensor<1x4x8x24xf32>
  %2 = nn.contract "bhsd,bhdt->bhst" (%0, %1) : (tensor<1x4x24x8xf32>, tensor<1x4x8x24xf32>) -> tensor<1x4x24x24xf32>
  return %2 : tensor<1x4x24x24xf32>
}

// CHECK-LABEL: func.func @write
func.func @write(%p: tensor<1x4x24x24xf32>, %v: tensor<1x24x4x8xf32>) -> tensor<1x24x4x8xf32> {
  // CHECK-NEXT: nn.contract "bhst,bthd->bshd"
  // CHECK-NEXT: return
  %0 = nn.contract "bhst,bthd->bhsd" (%p, %v) : (tensor<1x4x24x24xf32>, tensor<1x24x4x8xf32>) -> tensor<1x4x24x8xf32>
  %1 = nn.transpose %0 [0, 2, 1, 3] : tensor<1x4x24x8xf32> -> tensor<1x24x4x8xf32>
  return %1 : tensor<1x24x4x8xf32>
}

// A contraction that others read keeps its layout.
// CHECK-LABEL: func.func @shared
func.func @shared(%p: tensor<4x8xf32>, %v: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  // CHECK: nn.contract "mk,kn->mn"
  // CHECK: nn.transpose
  %0 = nn.contract "mk,kn->mn" (%p, %v) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<3x4xf32>
}
