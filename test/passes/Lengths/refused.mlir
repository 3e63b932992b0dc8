// Padding that would reach the loss, rule by rule.
// RUN: python3 %S/at-sizes.py %s | accum-opt -accum-check-padding -split-input-file -verify-diagnostics -o /dev/null

func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b> {
  // expected-error @below {{takes the sum over the positions along axis 1 of [1, 6, 4], of which those after a sample's end are not masked, so that padding along `sequence` would change the loss [padding-reaches-loss]}}
  // expected-note @below {{mask it first}} expected-note @below {{or give `sequence` one size}}
  %s = nn.reduce <sum> (%x) {axes = array<i64: 1>} : (tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b>
  return %s : tensor<1x4xf32, #b>
}

// -----

func.func @forward(%x: tensor<1x{S}xf32, #b>) -> tensor<1x1xf32, #b> {
  // expected-error @below {{takes the softmax over the positions along axis 1 of [1, 6]}}
  // expected-note @below {{add the lowest score}} expected-note @below {{one size}}
  %p = nn.softmax(%x) {axis = 1 : i64} : (tensor<1x{S}xf32, #b>) -> tensor<1x{S}xf32, #b>
  %y = nn.slice %p at [0, 0] by [1, 1] : tensor<1x{S}xf32, #b> -> tensor<1x1xf32, #b>
  return %y : tensor<1x1xf32, #b>
}

// -----

// Attention without a mask.
func.func @forward(%x: tensor<1x1x{S}x4xf32, #b>) -> tensor<1x1x1x4xf32, #b> {
  // expected-error @below {{attends to keys along axis 2 of [1, 1, 6, 4], of which those after a sample's end are not hidden}}
  // expected-note @below {{pass an attention mask}} expected-note @below {{one size}}
  %y, %lse = nn.attention(%x, %x, %x) <excluded> {scale = 0.5 : f64} : (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>) -> (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}xf32, #b>)
  %f = nn.slice %y at [0, 0, 0, 0] by [1, 1, 1, 1] : tensor<1x1x{S}x4xf32, #b> -> tensor<1x1x1x4xf32, #b>
  return %f : tensor<1x1x1x4xf32, #b>
}

// -----

// x[:, -1]
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x1x4xf32, #b> {
  // expected-error @below {{counted from the padded end}}
  // expected-note @below {{gather at the sample's own length}} expected-note @below {{one size}}
  %y = nn.slice %x at [0, {S-1}, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// The first two positions: a sample may have one.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x2x4xf32, #b> {
  // expected-error @below {{takes a fixed number of positions along axis 1 of [1, 6, 4]}}
  // expected-note @below {{take the first one}} expected-note @below {{one size}}
  %y = nn.slice %x at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x2x4xf32, #b>
  return %y : tensor<1x2x4xf32, #b>
}

// -----

// A table of positions from the right.
train.param @table : tensor<16x4xf32> from #train.file<"m.onnx", 0, 256, 0> trained
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x1x4xf32, #b> {
  %t = train.load_param @table : tensor<16x4xf32, #r>
  // expected-error @below {{takes rows along axis 0 of [16, 4] that are counted from the right}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %p = nn.slice %t at [{16-S}, 0] by [1, 1] : tensor<16x4xf32, #r> -> tensor<{S}x4xf32, #r>
  %h = nn.elementwise <add> (%x, %p) : (tensor<1x{S}x4xf32, #b>, tensor<{S}x4xf32, #r>) -> tensor<1x{S}x4xf32, #b>
  %y = nn.slice %h at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// Distances from the last position.
func.func @forward(%x: tensor<1x{S}xf32, #b>) -> tensor<1x1xf32, #b> {
  // expected-error @below {{uses a number that is another one at another size}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %last = nn.constant {value = dense<{S-1}> : tensor<i64>} : tensor<i64, #r>
  %i = nn.iota 0 : tensor<{S}xi64, #r>
  %d = nn.elementwise <sub> (%i, %last) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi64, #r>
  %f = nn.cast %d : tensor<{S}xi64, #r> -> tensor<{S}xf32, #r>
  %h = nn.elementwise <add> (%x, %f) : (tensor<1x{S}xf32, #b>, tensor<{S}xf32, #r>) -> tensor<1x{S}xf32, #b>
  %y = nn.slice %h at [0, 0] by [1, 1] : tensor<1x{S}xf32, #b> -> tensor<1x1xf32, #b>
  return %y : tensor<1x1xf32, #b>
}

// -----

// Positions as features.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b> {
  %f = nn.reshape %x : tensor<1x{S}x4xf32, #b> -> tensor<1x{4*S}xf32, #b>
  // expected-error @below {{takes a fixed number of positions}}
  // expected-note @below {{take the first one}} expected-note @below {{one size}}
  %y = nn.slice %f at [0, 0] by [1, 1] : tensor<1x{4*S}xf32, #b> -> tensor<1x4xf32, #b>
  return %y : tensor<1x4xf32, #b>
}

// -----

// mask[:, :-1] on logits[:, 1:]: the mask of the wrong side lets the first position after the end in.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b> {
  %a = nn.slice %x at [0, 1, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x{S-1}x4xf32, #b>
  %b = nn.slice %m at [0, 0] by [1, 1] : tensor<1x{S}xf32, #b> -> tensor<1x{S-1}xf32, #b>
  // expected-error @below {{multiplies [1, 5, 4] by [1, 5] and sums over the positions}}
  // expected-note @below {{mask one of them first}} expected-note @below {{one size}}
  %s = nn.contract "bsd,bs->bd" (%a, %b) : (tensor<1x{S-1}x4xf32, #b>, tensor<1x{S-1}xf32, #b>) -> tensor<1x4xf32, #b>
  return %s : tensor<1x4xf32, #b>
}

// -----

// A convolution that reads unmasked neighbours.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %p = nn.pad %x with %zero low [0, 0, 0] : (tensor<1x{S}x4xf32, #b>, tensor<f32, #r>) -> tensor<1x{S+1}x4xf32, #b>
  %a = nn.slice %p at [0, 1, 0] by [1, 1, 1] : tensor<1x{S+1}x4xf32, #b> -> tensor<1x{S}x4xf32, #b>
  // expected-error @below {{multiplies [1, 6, 4] by [1, 6] and sums over the positions}}
  // expected-note @below {{mask one of them first}} expected-note @below {{one size}}
  %s = nn.contract "bsd,bs->bd" (%a, %m) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b>
  return %s : tensor<1x4xf32, #b>
}

// -----

// A norm over positions, a running sum from the right, the largest positions.
func.func @forward(%x: tensor<1x{S}xf32, #b>) -> tensor<1x1xf32, #b> {
  // expected-error @below {{normalises [1, 6] over the positions along axis 1}}
  // expected-note @below {{normalise over features}} expected-note @below {{one size}}
  %n, %mean, %rstd = nn.layer_norm(%x) {axis = 1 : i64, eps = 1.0e-5 : f64} : (tensor<1x{S}xf32, #b>) -> (tensor<1x{S}xf32, #b>, tensor<1xf32, #b>, tensor<1xf32, #b>)
  %y = nn.slice %n at [0, 0] by [1, 1] : tensor<1x{S}xf32, #b> -> tensor<1x1xf32, #b>
  return %y : tensor<1x1xf32, #b>
}

// -----

func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x1x4xf32, #b> {
  // expected-error @below {{takes a running sum from the right}}
  // expected-note @below {{mask it first}} expected-note @below {{one size}}
  %n = nn.cumsum(%x) {axis = 1 : i64, reverse} : (tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %y = nn.slice %n at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

func.func @forward(%x: tensor<1x{S}xf32, #b>) -> tensor<1x1xf32, #b> {
  // expected-error @below {{takes the largest positions along axis 1 of [1, 6]}}
  // expected-note @below {{take the maximum}} expected-note @below {{one size}}
  %v, %i = nn.top_k(%x) {axis = 1 : i64, k = 1 : i64} : (tensor<1x{S}xf32, #b>) -> (tensor<1x1xf32, #b>, tensor<1x1xi64, #b>)
  return %v : tensor<1x1xf32, #b>
}

// -----

// An index that comes from data.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %i: tensor<1x1xi64, #b>) -> tensor<1x1x4xf32, #b> {
  // expected-error @below {{reads positions along axis 1 of [1, 6, 4] at an index that may be after a sample's end}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %y = nn.gather(%x, %i) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x{S}x4xf32, #b>, tensor<1x1xi64, #b>) -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// Scores by features of positions that no mask reaches.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x4x4xf32, #b> {
  // expected-error @below {{multiplies [1, 6, 4] by [1, 6, 4] and sums over the positions}}
  // expected-note @below {{mask one of them first}} expected-note @below {{one size}}
  %y = nn.contract "bsd,bse->bde" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x4x4xf32, #b>
  return %y : tensor<1x4x4xf32, #b>
}

// -----

// A table of zeros at the smaller size is not one at the larger.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b> {
  %six = nn.constant {value = dense<6> : tensor<i64>} : tensor<i64, #r>
  %n = nn.iota 0 : tensor<{S}x1xi64, #r>
  %f = nn.elementwise <ge> (%n, %six) : (tensor<{S}x1xi64, #r>, tensor<i64, #r>) -> tensor<{S}x1xi1, #r>
  %w = nn.cast %f : tensor<{S}x1xi1, #r> -> tensor<{S}x1xf32, #r>
  %y = nn.elementwise <mul> (%x, %w) : (tensor<1x{S}x4xf32, #b>, tensor<{S}x1xf32, #r>) -> tensor<1x{S}x4xf32, #b>
  // expected-error @below {{takes the sum over the positions along axis 1 of [1, 6, 4]}}
  // expected-note @below {{mask it first}} expected-note @below {{one size}}
  %s = nn.reduce <sum> (%y) {axes = array<i64: 1>} : (tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b>
  return %s : tensor<1x4xf32, #b>
}

// -----

// The maximum over queries and keys of a band: each hides the other, where it is known alone.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1xf32, #b> {
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %i = nn.iota 0 : tensor<{S}x1xi64, #r>
  %j = nn.iota 1 : tensor<1x{S}xi64, #r>
  %band = nn.elementwise <eq> (%i, %j) : (tensor<{S}x1xi64, #r>, tensor<1x{S}xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %q = nn.contract "bqd,bkd->bqk" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %s = nn.elementwise <select> (%band, %q, %low) : (tensor<{S}x{S}xi1, #r>, tensor<1x{S}x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x{S}x{S}xf32, #b>
  // expected-error @below {{takes the maximum over the positions along axis 1 of [1, 6, 6]}}
  // expected-note @below {{mask it first}} expected-note @below {{one size}}
  %y = nn.reduce <max> (%s) {axes = array<i64: 1, 2>} : (tensor<1x{S}x{S}xf32, #b>) -> tensor<1xf32, #b>
  return %y : tensor<1xf32, #b>
}

// -----

// A running sum from the right over queries: what a query hides, a later one may see.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %i = nn.iota 0 : tensor<{S}x1xi64, #r>
  %j = nn.iota 1 : tensor<1x{S}xi64, #r>
  %t = nn.elementwise <le> (%j, %i) : (tensor<1x{S}xi64, #r>, tensor<{S}x1xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %q = nn.contract "bqd,bkd->bqk" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %s = nn.elementwise <select> (%t, %q, %zero) : (tensor<{S}x{S}xi1, #r>, tensor<1x{S}x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x{S}x{S}xf32, #b>
  // expected-error @below {{takes a running sum from the right over the positions along axis 1 of [1, 6, 6]}}
  // expected-note @below {{mask it first}} expected-note @below {{one size}}
  %c = nn.cumsum(%s) {axis = 1 : i64, reverse} : (tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %o = nn.contract "bqk,bkd->bqd" (%c, %x) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %f = nn.slice %o at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  %y = nn.reshape %f : tensor<1x1x4xf32, #b> -> tensor<1x4xf32, #b>
  return %y : tensor<1x4xf32, #b>
}

// -----

// The sum of one row's mask is no sample's length where there are two.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x2x{S}xi64, #b>) -> tensor<1x2x4xf32, #b> {
  %n = nn.reduce <sum> (%m) {axes = array<i64: 2>} : (tensor<1x2x{S}xi64, #b>) -> tensor<1x2xi64, #b>
  // expected-error @below {{reads positions along axis 1 of [1, 6, 4] at an index that may be after a sample's end}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %y = nn.gather(%x, %n) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x{S}x4xf32, #b>, tensor<1x2xi64, #b>) -> tensor<1x2x4xf32, #b>
  return %y : tensor<1x2x4xf32, #b>
}

// -----

// Distances from the right that are not only added to the scores.
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x4xf32, #b> {
  // expected-error @below {{uses a number that is another one at another size}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %last = nn.constant {value = dense<{S-1}> : tensor<i64>} : tensor<i64, #r>
  %k = nn.iota 0 : tensor<{S}xi64, #r>
  %d = nn.elementwise <sub> (%k, %last) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi64, #r>
  %w = nn.elementwise <mul> (%m, %d) : (tensor<1x{S}xi64, #b>, tensor<{S}xi64, #r>) -> tensor<1x{S}xi64, #b>
  %f = nn.cast %w : tensor<1x{S}xi64, #b> -> tensor<1x{S}xf32, #b>
  %y = nn.contract "bs,bsd->bd" (%f, %x) : (tensor<1x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x4xf32, #b>
  return %y : tensor<1x4xf32, #b>
}

// -----

// What a softmax over queries sees of such a number along the keys.
func.func @forward(%x: tensor<1x{S}xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x1x{S}xf32, #b> {
  // expected-error @below {{uses a number that is another one at another size}}
  // expected-note @below {{count positions from the left}} expected-note @below {{one size}}
  %last = nn.constant {value = dense<{S-1}> : tensor<i64>} : tensor<i64, #r>
  %slopes = nn.constant {value = dense<[[0.25], [0.5]]> : tensor<2x1xf32>} : tensor<2x1xf32, #r>
  %k = nn.iota 0 : tensor<{S}xi64, #r>
  %d = nn.elementwise <sub> (%k, %last) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi64, #r>
  %f = nn.cast %d : tensor<{S}xi64, #r> -> tensor<{S}xf32, #r>
  %row = nn.reshape %f : tensor<{S}xf32, #r> -> tensor<1x{S}xf32, #r>
  %slope = nn.elementwise <mul> (%row, %slopes) : (tensor<1x{S}xf32, #r>, tensor<2x1xf32, #r>) -> tensor<2x{S}xf32, #r>
  %q = nn.reshape %x : tensor<1x{S}xf32, #b> -> tensor<1x1x{S}xf32, #b>
  %s = nn.elementwise <add> (%q, %slope) : (tensor<1x1x{S}xf32, #b>, tensor<2x{S}xf32, #r>) -> tensor<1x2x{S}xf32, #b>
  %p = nn.softmax(%s) {axis = 1 : i64} : (tensor<1x2x{S}xf32, #b>) -> tensor<1x2x{S}xf32, #b>
  %y = nn.slice %p at [0, 0, 0] by [1, 1, 1] : tensor<1x2x{S}xf32, #b> -> tensor<1x1x{S}xf32, #b>
  return %y : tensor<1x1x{S}xf32, #b>
}

// -----

// What is put together is read at a constant index, the last position is not: that one is the reason.
func.func @forward(%x: tensor<1x{S}xi64, #b>) -> tensor<1x1xi64, #b> {
  %short = nn.slice %x at [0, 0] by [1, 1] : tensor<1x{S}xi64, #b> -> tensor<1x{S-1}xi64, #b>
  %both = nn.concat(%x, %short) {axis = 1 : i64} : (tensor<1x{S}xi64, #b>, tensor<1x{S-1}xi64, #b>) -> tensor<1x{2*S-1}xi64, #b>
  %index = nn.constant {value = dense<[0, {S}]> : tensor<2xi64>} : tensor<2xi64, #r>
  %pair = nn.gather(%both, %index) {axis = 1 : i64} : (tensor<1x{2*S-1}xi64, #b>, tensor<2xi64, #r>) -> tensor<1x2xi64, #b>
  // expected-error @below {{takes positions along axis 1 of [1, 6] that are counted from the padded end}}
  // expected-note @below {{count from the left}} expected-note @below {{one size}}
  %last = nn.slice %x at [0, {S-1}] by [1, 1] : tensor<1x{S}xi64, #b> -> tensor<1x1xi64, #b>
  %first = nn.slice %pair at [0, 1] by [1, 1] : tensor<1x2xi64, #b> -> tensor<1x1xi64, #b>
  %z = nn.elementwise <add> (%first, %last) : (tensor<1x1xi64, #b>, tensor<1x1xi64, #b>) -> tensor<1x1xi64, #b>
  return %z : tensor<1x1xi64, #b>
}
