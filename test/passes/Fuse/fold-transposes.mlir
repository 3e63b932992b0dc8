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

// The gradient of a convolution's filter: read in place, samples and places would no longer be one summed axis.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[ROWS:.*]]: tensor<1x16x27xf32, #nn.batched<0>>, %[[DY:.*]]: tensor<1x8x16xf32, #nn.batched<0>>)
func.func @product(%rows: tensor<1x16x27xf32, #nn.batched<0>>, %dy: tensor<1x8x16xf32, #nn.batched<0>>) -> tensor<8x27xf32, #nn.partial<sum>> {
  // CHECK: %[[T:.*]] = nn.transpose %[[DY]]
  // CHECK: nn.contract "nxk,nxo->ok" (%[[ROWS]], %[[T]])
  %0 = nn.transpose %dy [0, 2, 1] : tensor<1x8x16xf32, #nn.batched<0>> -> tensor<1x16x8xf32, #nn.batched<0>>
  %1 = nn.contract "nxk,nxo->ok" (%rows, %0) : (tensor<1x16x27xf32, #nn.batched<0>>, tensor<1x16x8xf32, #nn.batched<0>>) -> tensor<8x27xf32, #nn.partial<sum>>
  return %1 : tensor<8x27xf32, #nn.partial<sum>>
}

// The same gradient in the filter's layout: its columns would be neither together nor apart.
// CHECK-LABEL: func.func @layout
func.func @layout(%rows: tensor<16x9x3xf32>, %dy: tensor<16x8xf32>) -> tensor<8x3x9xf32> {
  // CHECK: nn.contract "xkc,xo->okc"
  // CHECK: nn.transpose
  %0 = nn.contract "xkc,xo->okc" (%rows, %dy) : (tensor<16x9x3xf32>, tensor<16x8xf32>) -> tensor<8x9x3xf32>
  %1 = nn.transpose %0 [0, 2, 1] : tensor<8x9x3xf32> -> tensor<8x3x9xf32>
  return %1 : tensor<8x3x9xf32>
}
