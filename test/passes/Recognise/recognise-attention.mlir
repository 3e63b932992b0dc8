// Attention in the ways in which exporters write it, and what only looks like it.
// RUN: accum-opt %s -accum-recognise -split-input-file | FileCheck %s

// Scores are scaled, a float mask is made of a triangle and padding.
// CHECK-LABEL: func.func @eager
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x6x8xf32, #nn.extent<0>>, %[[K:.*]]: tensor<1x4x6x8xf32, #nn.extent<0>>, %[[V:.*]]: tensor<1x4x6x8xf32, #nn.extent<0>>, %[[PAD:.*]]: tensor<1x1x1x6xi1, #nn.extent<0>>)
// CHECK: %[[Y:.*]], %{{.*}} = nn.attention(%[[Q]], %[[K]], %[[V]] mask %[[PAD]]) <lowered> causal {scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @eager(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %i = nn.iota 2 : tensor<1x1x6x1xi64>
  %j = nn.iota 3 : tensor<1x1x1x6xi64>
  %tri = nn.elementwise <le> (%j, %i) : (tensor<1x1x1x6xi64>, tensor<1x1x6x1xi64>) -> tensor<1x1x6x6xi1>
  %both = nn.elementwise <logical_and> (%tri, %pad) : (tensor<1x1x6x6xi1>, tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x1x6x6xi1, #nn.extent<0>>
  %m = nn.elementwise <select> (%both, %zero, %low) : (tensor<1x1x6x6xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x1x6x6xf32, #nn.extent<0>>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <mul> (%s, %scale) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%t, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// The triangle alone; queries and keys each carry the root of the scale, the softmax a guard.
// CHECK-LABEL: func.func @triangle
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}}) <excluded> causal {scale = 6.250000e-02 : f64}
func.func @triangle(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %i = nn.iota 2 : tensor<1x1x6x1xi64>
  %j = nn.iota 3 : tensor<1x1x1x6xi64>
  %tri = nn.elementwise <le> (%j, %i) : (tensor<1x1x1x6xi64>, tensor<1x1x6x1xi64>) -> tensor<1x1x6x6xi1>
  %m = nn.elementwise <select> (%tri, %zero, %inf) : (tensor<1x1x6x6xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %qs = nn.elementwise <mul> (%q, %scale) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  %ks = nn.elementwise <mul> (%kt, %scale) : (tensor<1x4x8x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%qs, %ks) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x6x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %nan = nn.elementwise <is_nan> (%p) : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xi1, #nn.extent<0>>
  %g = nn.elementwise <select> (%nan, %zero, %p) : (tensor<1x4x6x6xi1, #nn.extent<0>>, tensor<f32>, tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%g, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Attention adds its mask in 32 bits.
// CHECK-LABEL: func.func @mask_of_16_bits
// CHECK-NOT: nn.attention
// CHECK: return
func.func @mask_of_16_bits(%q: tensor<1x4x6x8xf16, #nn.extent<0>>, %k: tensor<1x4x6x8xf16, #nn.extent<0>>, %v: tensor<1x4x6x8xf16, #nn.extent<0>>, %m: tensor<1x1x6x6xf16>) -> tensor<1x4x6x8xf16, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f16>} : tensor<f16>
  %scale = nn.constant {value = dense<0.25> : tensor<f16>} : tensor<f16>
  %low = nn.constant {value = dense<-6.5504E+4> : tensor<f16>} : tensor<f16>
  %inf = nn.constant {value = dense<0xFC00> : tensor<f16>} : tensor<f16>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf16, #nn.extent<0>> -> tensor<1x4x8x6xf16, #nn.extent<0>>
  %qs = nn.elementwise <mul> (%q, %scale) : (tensor<1x4x6x8xf16, #nn.extent<0>>, tensor<f16>) -> tensor<1x4x6x8xf16, #nn.extent<0>>
  %ks = nn.elementwise <mul> (%kt, %scale) : (tensor<1x4x8x6xf16, #nn.extent<0>>, tensor<f16>) -> tensor<1x4x8x6xf16, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%qs, %ks) : (tensor<1x4x6x8xf16, #nn.extent<0>>, tensor<1x4x8x6xf16, #nn.extent<0>>) -> tensor<1x4x6x6xf16, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %m) : (tensor<1x4x6x6xf16, #nn.extent<0>>, tensor<1x1x6x6xf16>) -> tensor<1x4x6x6xf16, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf16, #nn.extent<0>>) -> tensor<1x4x6x6xf16, #nn.extent<0>>
  %nan = nn.elementwise <is_nan> (%p) : (tensor<1x4x6x6xf16, #nn.extent<0>>) -> tensor<1x4x6x6xi1, #nn.extent<0>>
  %g = nn.elementwise <select> (%nan, %zero, %p) : (tensor<1x4x6x6xi1, #nn.extent<0>>, tensor<f16>, tensor<1x4x6x6xf16, #nn.extent<0>>) -> tensor<1x4x6x6xf16, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%g, %v) : (tensor<1x4x6x6xf16, #nn.extent<0>>, tensor<1x4x6x8xf16, #nn.extent<0>>) -> tensor<1x4x6x8xf16, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf16, #nn.extent<0>>
}

// Scores above the triangle are replaced, a float mask is added that could be anything.
// CHECK-LABEL: func.func @replaced
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}) <replaced> causal {scale = 4.000000e+00 : f64}
func.func @replaced(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %m: tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %i = nn.iota 2 : tensor<1x1x6x1xi64>
  %j = nn.iota 3 : tensor<1x1x1x6xi64>
  %tri = nn.elementwise <le> (%j, %i) : (tensor<1x1x1x6xi64>, tensor<1x1x6x1xi64>) -> tensor<1x1x6x6xi1>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <div> (%s, %scale) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %c = nn.elementwise <select> (%tri, %t, %low) : (tensor<1x1x6x6xi1>, tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%c, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Padding added to the triangle and read back from the sum.
// CHECK-LABEL: func.func @padding
// CHECK: %[[PAD:.*]] = nn.cast %{{.*}} : tensor<1x1x1x6xi64, #nn.extent<0>> -> tensor<1x1x1x6xi1, #nn.extent<0>>
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %[[PAD]]) <lowered> causal
func.func @padding(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi64, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %i = nn.iota 2 : tensor<1x1x6x1xi64>
  %j = nn.iota 3 : tensor<1x1x1x6xi64>
  %tri = nn.elementwise <le> (%j, %i) : (tensor<1x1x1x6xi64>, tensor<1x1x6x1xi64>) -> tensor<1x1x6x6xi1>
  %m = nn.elementwise <select> (%tri, %zero, %low) : (tensor<1x1x6x6xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %padf = nn.cast %pad : tensor<1x1x1x6xi64, #nn.extent<0>> -> tensor<1x1x1x6xf32, #nn.extent<0>>
  %sum = nn.elementwise <add> (%m, %padf) : (tensor<1x1x6x6xf32>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x1x6x6xf32, #nn.extent<0>>
  %eq = nn.elementwise <eq> (%sum, %zero) : (tensor<1x1x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x1x6x6xi1, #nn.extent<0>>
  %n = nn.elementwise <select> (%eq, %low, %m) : (tensor<1x1x6x6xi1, #nn.extent<0>>, tensor<f32>, tensor<1x1x6x6xf32>) -> tensor<1x1x6x6xf32, #nn.extent<0>>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %n) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// A number that scores can outweigh is added as it is.
// CHECK-LABEL: func.func @ten_thousand
// CHECK: %[[M:.*]] = nn.elementwise <select>
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %[[M]]) <infinite> {scale = 1.000000e+00 : f64}
func.func @ten_thousand(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-1.0e4> : tensor<f32>} : tensor<f32>
  %m = nn.elementwise <select> (%pad, %zero, %low) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x6xf32, #nn.extent<0>>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Two query heads for each key head, which is not repeated.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x6x8xf32, #nn.extent<0>>, %[[K:.*]]: tensor<1x2x6x8xf32, #nn.extent<0>>, %[[V:.*]]: tensor<1x2x6x8xf32, #nn.extent<0>>)
// CHECK-NEXT: nn.attention(%[[Q]], %[[K]], %[[V]])
func.func @grouped(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x2x6x8xf32, #nn.extent<0>>, %v: tensor<1x2x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %k1 = nn.reshape %k : tensor<1x2x6x8xf32, #nn.extent<0>> -> tensor<1x2x1x6x8xf32, #nn.extent<0>>
  %k2 = nn.broadcast %k1 : tensor<1x2x1x6x8xf32, #nn.extent<0>> -> tensor<1x2x2x6x8xf32, #nn.extent<0>>
  %k3 = nn.reshape %k2 : tensor<1x2x2x6x8xf32, #nn.extent<0>> -> tensor<1x4x6x8xf32, #nn.extent<0>>
  %v1 = nn.reshape %v : tensor<1x2x6x8xf32, #nn.extent<0>> -> tensor<1x2x1x6x8xf32, #nn.extent<0>>
  %v2 = nn.broadcast %v1 : tensor<1x2x1x6x8xf32, #nn.extent<0>> -> tensor<1x2x2x6x8xf32, #nn.extent<0>>
  %v3 = nn.reshape %v2 : tensor<1x2x2x6x8xf32, #nn.extent<0>> -> tensor<1x4x6x8xf32, #nn.extent<0>>
  %kt = nn.transpose %k3 [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v3) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Heads beside the samples in one axis; the result's axes in another order.
// CHECK-LABEL: func.func @merged
// CHECK: nn.attention({{.*}}) <infinite> {scale = 1.000000e+00 : f64} : (tensor<4x1x6x8xf32, #nn.extent<0>>, tensor<4x1x6x8xf32, #nn.extent<0>>, tensor<4x1x6x8xf32, #nn.extent<0>>)
// CHECK: %[[R:.*]] = nn.reshape %{{.*}} : tensor<4x1x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
// CHECK-NEXT: nn.transpose %[[R]] [1, 0, 2]
func.func @merged(%q: tensor<4x6x8xf32, #nn.extent<0>>, %k: tensor<4x6x8xf32, #nn.extent<0>>) -> tensor<6x4x8xf32, #nn.extent<1>> {
  %s = nn.contract "bqd,bkd->bqk" (%q, %k) : (tensor<4x6x8xf32, #nn.extent<0>>, tensor<4x6x8xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 2 : i64} : (tensor<4x6x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "bqk,bkd->qbd" (%p, %k) : (tensor<4x6x6xf32, #nn.extent<0>>, tensor<4x6x8xf32, #nn.extent<0>>) -> tensor<6x4x8xf32, #nn.extent<1>>
  return %y : tensor<6x4x8xf32, #nn.extent<1>>
}

// Near misses. Probabilities with dropout.
// CHECK-LABEL: func.func @dropout
// CHECK-NOT: nn.attention
// CHECK: return
func.func @dropout(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %d = nn.dropout(%p) {key = 7 : i64, ratio = 0.1 : f64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%d, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Probabilities that are read elsewhere.
// CHECK-LABEL: func.func @read
// CHECK-NOT: nn.attention
// CHECK: return
func.func @read(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x6x6xf32, #nn.extent<0>>) {
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y, %p : tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x6x6xf32, #nn.extent<0>>
}

// The scale is outside of the mask.
// CHECK-LABEL: func.func @scaled_mask
// CHECK-NOT: nn.attention
// CHECK: return
func.func @scaled_mask(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %m: tensor<1x1x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <mul> (%u, %scale) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%t) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// A row without keys is NaN; that is what `infinite` says.
// CHECK-LABEL: func.func @unguarded
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}) <infinite>
func.func @unguarded(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %inf = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <select> (%pad, %s, %inf) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// -----

// Positions that are trained shift the scores: their gradient is that of a mask.
// CHECK-LABEL: func.func @relative
// CHECK-NOT: nn.attention
// CHECK: return
train.param @bias : tensor<4x6x6xf32> from <"m.onnx", 0, 576, 0> trained
func.func @relative(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %b = train.load_param @bias : tensor<4x6x6xf32>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %b) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<4x6x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// -----

// The same from a table that is not trained is a mask.
// CHECK-LABEL: func.func @fixed
// CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}) <infinite>
train.param @bias : tensor<4x6x6xf32> from <"m.onnx", 0, 576, 0>
func.func @fixed(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %b = train.load_param @bias : tensor<4x6x6xf32>
  %kt = nn.transpose %k [0, 1, 3, 2] : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abkn->abmn" (%q, %kt) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x8x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%s, %b) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<4x6x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// All heads read the same keys and values: the product lacks the head in them.
// CHECK-LABEL: func.func @shared_heads
// CHECK: %[[K:.*]] = nn.reshape %arg1 : tensor<1x6x8xf32, #nn.extent<0>> -> tensor<1x1x6x8xf32, #nn.extent<0>>
// CHECK: %[[V:.*]] = nn.reshape %arg2 : tensor<1x6x8xf32, #nn.extent<0>> -> tensor<1x1x6x8xf32, #nn.extent<0>>
// CHECK: nn.attention(%arg0, %[[K]], %[[V]]) <infinite> {scale = 1.000000e+00 : f64}
func.func @shared_heads(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x6x8xf32, #nn.extent<0>>, %v: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %s = nn.contract "abmk,ank->abmn" (%q, %k) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,akn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Keys of one head, values of four: no attention.
// CHECK-LABEL: func.func @keys_shared
// CHECK: nn.softmax
func.func @keys_shared(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %s = nn.contract "abmk,ank->abmn" (%q, %k) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%s) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// Scaled behind the mask: what is hidden stays hidden.
// CHECK-LABEL: func.func @scaled_mask
// CHECK: nn.attention(%arg0, %arg1, %arg2 mask %arg3) <lowered> {scale = 2.500000e-01 : f64}
func.func @scaled_mask(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<4.0> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %m = nn.elementwise <select> (%pad, %zero, %low) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abnk->abmn" (%q, %k) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <add> (%s, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <div> (%t, %scale) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// A slope and a mask are both added: one float mask.
// CHECK-LABEL: func.func @slope
// CHECK: %[[HIDES:.*]] = nn.elementwise <select> (%arg4,
// CHECK: %[[M:.*]] = nn.elementwise <add> (%arg3, %[[HIDES]]) : (tensor<4x1x6xf32>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x1x6xf32, #nn.extent<0>>
// CHECK: nn.attention(%arg0, %arg1, %arg2 mask %[[M]]) <infinite> {scale = 1.000000e+00 : f64}
func.func @slope(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %slope: tensor<4x1x6xf32>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %m = nn.elementwise <select> (%pad, %zero, %low) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x6xf32, #nn.extent<0>>
  %s = nn.contract "abmk,abnk->abmn" (%q, %k) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <add> (%s, %slope) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<4x1x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%t, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// A replaced score has no cotangent where a row sees nothing, one that a mask is added to has: a slope beside a select
// stays as it is.
// CHECK-LABEL: func.func @slope_replaced
// CHECK: nn.softmax
func.func @slope_replaced(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %slope: tensor<4x1x6xf32>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %s = nn.contract "abmk,abnk->abmn" (%q, %k) : (tensor<1x4x6x8xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <add> (%s, %slope) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<4x1x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <select> (%pad, %t, %low) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%u) {axis = 3 : i64} : (tensor<1x4x6x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "abmk,abkn->abmn" (%p, %v) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %y : tensor<1x4x6x8xf32, #nn.extent<0>>
}
