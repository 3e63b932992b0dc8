// Padding that does not reach the loss, rule by rule.
// RUN: python3 %S/at-sizes.py %s | accum-opt -accum-check-padding -split-input-file -verify-diagnostics -o /dev/null

// Keys are hidden by the mask; a masked mean over positions.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x4xf32, #b> {
  %h = nn.reshape %x : tensor<1x{S}x4xf32, #b> -> tensor<1x1x{S}x4xf32, #b>
  %v = nn.cast %m : tensor<1x{S}xi64, #b> -> tensor<1x{S}xi1, #b>
  %k = nn.reshape %v : tensor<1x{S}xi1, #b> -> tensor<1x1x1x{S}xi1, #b>
  %y, %lse = nn.attention(%h, %h, %h mask %k) <lowered> {scale = 0.5 : f64} : (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>, tensor<1x1x1x{S}xi1, #b>) -> (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}xf32, #b>)
  %r = nn.reshape %y : tensor<1x1x{S}x4xf32, #b> -> tensor<1x{S}x4xf32, #b>
  %w = nn.cast %v : tensor<1x{S}xi1, #b> -> tensor<1x{S}xf32, #b>
  %s = nn.contract "bsd,bs->bd" (%r, %w) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b>
  %n = nn.reduce <sum> (%w) {axes = array<i64: 1>} : (tensor<1x{S}xf32, #b>) -> tensor<1xf32, #b>
  %o = nn.reshape %n : tensor<1xf32, #b> -> tensor<1x1xf32, #b>
  %mean = nn.elementwise <div> (%s, %o) : (tensor<1x4xf32, #b>, tensor<1x1xf32, #b>) -> tensor<1x4xf32, #b>
  return %mean : tensor<1x4xf32, #b>
}

// -----

// Causal order hides keys from real queries, and labels are ignored after the end: logits[:-1], labels[1:].
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: -100 after the end, which tells it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %t: tensor<1x{S}xi64, #b>) -> tensor<f32, #p> {
  %h = nn.reshape %x : tensor<1x{S}x4xf32, #b> -> tensor<1x1x{S}x4xf32, #b>
  %y, %lse = nn.attention(%h, %h, %h) <excluded> causal {scale = 0.5 : f64} : (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}x4xf32, #b>) -> (tensor<1x1x{S}x4xf32, #b>, tensor<1x1x{S}xf32, #b>)
  %a = nn.slice %y at [0, 0, 0, 0] by [1, 1, 1, 1] : tensor<1x1x{S}x4xf32, #b> -> tensor<1x1x{S-1}x4xf32, #b>
  %b = nn.slice %t at [0, 1] by [1, 1] : tensor<1x{S}xi64, #b> -> tensor<1x{S-1}xi64, #b>
  %l = nn.reshape %a : tensor<1x1x{S-1}x4xf32, #b> -> tensor<{S-1}x4xf32, #b>
  %i = nn.reshape %b : tensor<1x{S-1}xi64, #b> -> tensor<{S-1}xi64, #b>
  %loss, %e = nn.cross_entropy(%l, %i) {ignore_index = -100 : i64} : (tensor<{S-1}x4xf32, #b>, tensor<{S-1}xi64, #b>) -> (tensor<{S-1}xf32, #b>, tensor<{S-1}xf32, #b>)
  %s = nn.reduce <sum> (%loss) {axes = array<i64: 0>} : (tensor<{S-1}xf32, #b>) -> tensor<f32, #p>
  return %s : tensor<f32, #p>
}

// -----

// The same triangle as a comparison of positions, added to scores as the lowest number.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, which tells it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b> {
  %q = nn.iota 0 : tensor<{S}x1xi64, #r>
  %k = nn.iota 1 : tensor<1x{S}xi64, #r>
  %see = nn.elementwise <le> (%k, %q) : (tensor<1x{S}xi64, #r>, tensor<{S}x1xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %bias = nn.elementwise <select> (%see, %zero, %low) : (tensor<{S}x{S}xi1, #r>, tensor<f32, #r>, tensor<f32, #r>) -> tensor<{S}x{S}xf32, #r>
  %s = nn.contract "bqd,bkd->bqk" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %a = nn.elementwise <add> (%s, %bias) : (tensor<1x{S}x{S}xf32, #b>, tensor<{S}x{S}xf32, #r>) -> tensor<1x{S}x{S}xf32, #b>
  %p = nn.softmax(%a) {axis = 2 : i64} : (tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %y = nn.contract "bqk,bkd->bqd" (%p, %x) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %o = nn.contract "bqd,bq->bd" (%y, %m) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b>
  return %o : tensor<1x4xf32, #b>
}

// -----

// The last real token: its place is the sum of the mask less one, which needs a mask without holes.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x1x4xf32, #b> {
  %n = nn.reduce <sum> (%m) {axes = array<i64: 1>} : (tensor<1x{S}xi64, #b>) -> tensor<1xi64, #b>
  %one = nn.constant {value = dense<1> : tensor<i64>} : tensor<i64, #r>
  %i = nn.elementwise <sub> (%n, %one) : (tensor<1xi64, #b>, tensor<i64, #r>) -> tensor<1xi64, #b>
  %j = nn.reshape %i : tensor<1xi64, #b> -> tensor<1x1xi64, #b>
  %y = nn.gather(%x, %j) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x{S}x4xf32, #b>, tensor<1x1xi64, #b>) -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// The last token that is no pad id (7): the first largest of position times being none.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 7 after the end, which tells it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %ids: tensor<1x{S}xi64, #b>) -> tensor<1x1x4xf32, #b> {
  %pad = nn.constant {value = dense<7> : tensor<i64>} : tensor<i64, #r>
  %real = nn.elementwise <ne> (%ids, %pad) : (tensor<1x{S}xi64, #b>, tensor<i64, #r>) -> tensor<1x{S}xi1, #b>
  %one = nn.cast %real : tensor<1x{S}xi1, #b> -> tensor<1x{S}xi64, #b>
  %place = nn.iota 0 : tensor<{S}xi64, #r>
  %score = nn.elementwise <mul> (%one, %place) : (tensor<1x{S}xi64, #b>, tensor<{S}xi64, #r>) -> tensor<1x{S}xi64, #b>
  %last = nn.arg_reduce <max> (%score) {axis = 1 : i64} : (tensor<1x{S}xi64, #b>) -> tensor<1xi64, #b>
  %j = nn.reshape %last : tensor<1xi64, #b> -> tensor<1x1xi64, #b>
  %y = nn.gather(%x, %j) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x{S}x4xf32, #b>, tensor<1x1xi64, #b>) -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// The first position, and positions of a table that is longer than the largest size; positions are a sum of the mask.
train.param @table : tensor<16x4xf32> from #train.file<"m.onnx", 0, 256, 0> trained
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x1x4xf32, #b> {
  %t = train.load_param @table : tensor<16x4xf32, #r>
  %p = nn.slice %t at [2, 0] by [1, 1] : tensor<16x4xf32, #r> -> tensor<{S}x4xf32, #r>
  %c = nn.cumsum(%m) {axis = 1 : i64} : (tensor<1x{S}xi64, #b>) -> tensor<1x{S}xi64, #b>
  %e = nn.gather(%t, %c) {axis = 0 : i64} : (tensor<16x4xf32, #r>, tensor<1x{S}xi64, #b>) -> tensor<1x{S}x4xf32, #b>
  %a = nn.elementwise <add> (%x, %p) : (tensor<1x{S}x4xf32, #b>, tensor<{S}x4xf32, #r>) -> tensor<1x{S}x4xf32, #b>
  %h = nn.elementwise <add> (%a, %e) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %y = nn.slice %h at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// A convolution over masked positions: neighbours are zeros on both sides at every size; masked again before the sum.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, which tells it}}
func.func @forward(%x: tensor<1x{S}xf32, #b>, %m: tensor<1x{S}xi1, #b>) -> tensor<1xf32, #b> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %h = nn.elementwise <select> (%m, %x, %zero) : (tensor<1x{S}xi1, #b>, tensor<1x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x{S}xf32, #b>
  %p = nn.pad %h with %zero low [0, 1] : (tensor<1x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x{S+2}xf32, #b>
  %a = nn.slice %p at [0, 0] by [1, 1] : tensor<1x{S+2}xf32, #b> -> tensor<1x{S}xf32, #b>
  %b = nn.slice %p at [0, 2] by [1, 1] : tensor<1x{S+2}xf32, #b> -> tensor<1x{S}xf32, #b>
  %c = nn.elementwise <add> (%a, %b) : (tensor<1x{S}xf32, #b>, tensor<1x{S}xf32, #b>) -> tensor<1x{S}xf32, #b>
  %d = nn.elementwise <select> (%m, %c, %zero) : (tensor<1x{S}xi1, #b>, tensor<1x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x{S}xf32, #b>
  %s = nn.reduce <sum> (%d) {axes = array<i64: 1>} : (tensor<1x{S}xf32, #b>) -> tensor<1xf32, #b>
  return %s : tensor<1xf32, #b>
}

// -----

// Causal order and the mask together, added to scores: the first position is seen by all.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi1, #b>) -> tensor<1x1x4xf32, #b> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %i = nn.iota 0 : tensor<{S}x1xi64, #r>
  %j = nn.iota 1 : tensor<1x{S}xi64, #r>
  %t = nn.elementwise <le> (%j, %i) : (tensor<1x{S}xi64, #r>, tensor<{S}x1xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %k = nn.reshape %m : tensor<1x{S}xi1, #b> -> tensor<1x1x{S}xi1, #b>
  %a = nn.elementwise <logical_and> (%t, %k) : (tensor<{S}x{S}xi1, #r>, tensor<1x1x{S}xi1, #b>) -> tensor<1x{S}x{S}xi1, #b>
  %h = nn.elementwise <select> (%a, %zero, %low) : (tensor<1x{S}x{S}xi1, #b>, tensor<f32, #r>, tensor<f32, #r>) -> tensor<1x{S}x{S}xf32, #b>
  %q = nn.contract "bqd,bkd->bqk" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %s = nn.elementwise <add> (%q, %h) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %p = nn.softmax(%s) {axis = 2 : i64} : (tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %o = nn.contract "bqk,bkd->bqd" (%p, %x) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %y = nn.slice %o at [0, 0, 0] by [1, 1, 1] : tensor<1x{S}x4xf32, #b> -> tensor<1x1x4xf32, #b>
  return %y : tensor<1x1x4xf32, #b>
}

// -----

// A shift by a constant index, 0, S, S+1, ..., as ScatterND is exported.
// expected-remark @below {{input 0 axis 1: 0 after the end}}
func.func @forward(%x: tensor<1x{S}xi64, #b>) -> tensor<1x1xi64, #b> {
  %zero = nn.constant {value = dense<0> : tensor<i64>} : tensor<i64, #r>
  %last = nn.constant {value = dense<{S-1}> : tensor<i64>} : tensor<i64, #r>
  %n = nn.iota 0 : tensor<{S}xi64, #r>
  %f = nn.elementwise <eq> (%n, %zero) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi1, #r>
  %g = nn.elementwise <add> (%n, %last) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi64, #r>
  %i = nn.elementwise <select> (%f, %zero, %g) : (tensor<{S}xi1, #r>, tensor<i64, #r>, tensor<{S}xi64, #r>) -> tensor<{S}xi64, #r>
  %z = nn.broadcast %zero : tensor<i64, #r> -> tensor<1x{S}xi64, #b>
  %a = nn.slice %x at [0, 0] by [1, 1] : tensor<1x{S}xi64, #b> -> tensor<1x{S-1}xi64, #b>
  %c = nn.concat(%z, %a) {axis = 1 : i64} : (tensor<1x{S}xi64, #b>, tensor<1x{S-1}xi64, #b>) -> tensor<1x{2*S-1}xi64, #b>
  %h = nn.gather(%c, %i) {axis = 1 : i64} : (tensor<1x{2*S-1}xi64, #b>, tensor<{S}xi64, #r>) -> tensor<1x{S}xi64, #b>
  %y = nn.slice %h at [0, 1] by [1, 1] : tensor<1x{S}xi64, #b> -> tensor<1x1xi64, #b>
  return %y : tensor<1x1xi64, #b>
}

// -----

// A window: queries do not see key 0, but themselves, if they are before the end.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi1, #b>) -> tensor<1x4xf32, #b> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #r>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %two = nn.constant {value = dense<2> : tensor<i64>} : tensor<i64, #r>
  %i = nn.iota 0 : tensor<{S}x1xi64, #r>
  %j = nn.iota 1 : tensor<1x{S}xi64, #r>
  %t = nn.elementwise <le> (%j, %i) : (tensor<1x{S}xi64, #r>, tensor<{S}x1xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %n = nn.elementwise <add> (%j, %two) : (tensor<1x{S}xi64, #r>, tensor<i64, #r>) -> tensor<1x{S}xi64, #r>
  %w = nn.elementwise <gt> (%n, %i) : (tensor<1x{S}xi64, #r>, tensor<{S}x1xi64, #r>) -> tensor<{S}x{S}xi1, #r>
  %c = nn.elementwise <logical_and> (%t, %w) : (tensor<{S}x{S}xi1, #r>, tensor<{S}x{S}xi1, #r>) -> tensor<{S}x{S}xi1, #r>
  %k = nn.reshape %m : tensor<1x{S}xi1, #b> -> tensor<1x1x{S}xi1, #b>
  %a = nn.elementwise <logical_and> (%c, %k) : (tensor<{S}x{S}xi1, #r>, tensor<1x1x{S}xi1, #b>) -> tensor<1x{S}x{S}xi1, #b>
  %h = nn.elementwise <select> (%a, %zero, %low) : (tensor<1x{S}x{S}xi1, #b>, tensor<f32, #r>, tensor<f32, #r>) -> tensor<1x{S}x{S}xf32, #b>
  %q = nn.contract "bqd,bkd->bqk" (%x, %x) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %s = nn.elementwise <add> (%q, %h) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %p = nn.softmax(%s) {axis = 2 : i64} : (tensor<1x{S}x{S}xf32, #b>) -> tensor<1x{S}x{S}xf32, #b>
  %o = nn.contract "bqk,bkd->bqd" (%p, %x) : (tensor<1x{S}x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x{S}x4xf32, #b>
  %f = nn.cast %m : tensor<1x{S}xi1, #b> -> tensor<1x{S}xf32, #b>
  %y = nn.contract "bqd,bq->bd" (%o, %f) : (tensor<1x{S}x4xf32, #b>, tensor<1x{S}xf32, #b>) -> tensor<1x4xf32, #b>
  return %y : tensor<1x4xf32, #b>
}

// -----

// Two rows a sample, of which one may end earlier: a softmax that sees the first position of each.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 2: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x2x{S}xi64, #b>) -> tensor<1x2x4xf32, #b> {
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32, #r>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %f = nn.cast %m : tensor<1x2x{S}xi64, #b> -> tensor<1x2x{S}xf32, #b>
  %h = nn.elementwise <sub> (%one, %f) : (tensor<f32, #r>, tensor<1x2x{S}xf32, #b>) -> tensor<1x2x{S}xf32, #b>
  %s = nn.elementwise <mul> (%h, %low) : (tensor<1x2x{S}xf32, #b>, tensor<f32, #r>) -> tensor<1x2x{S}xf32, #b>
  %p = nn.softmax(%s) {axis = 2 : i64} : (tensor<1x2x{S}xf32, #b>) -> tensor<1x2x{S}xf32, #b>
  %y = nn.contract "bcs,bsd->bcd" (%p, %x) : (tensor<1x2x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x2x4xf32, #b>
  return %y : tensor<1x2x4xf32, #b>
}

// -----

// A slope over distances that are counted from the right: one number more for all keys, which the softmax does not see.
// expected-remark @below {{input 0 axis 1: 0 after the end}} expected-remark @below {{input 1 axis 1: 0 after the end, 1 before it}}
func.func @forward(%x: tensor<1x{S}x4xf32, #b>, %m: tensor<1x{S}xi64, #b>) -> tensor<1x2x4xf32, #b> {
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32, #r>
  %last = nn.constant {value = dense<{S-1}> : tensor<i64>} : tensor<i64, #r>
  %slopes = nn.constant {value = dense<[[0.25], [0.5]]> : tensor<2x1xf32>} : tensor<2x1xf32, #r>
  %k = nn.iota 0 : tensor<{S}xi64, #r>
  %d = nn.elementwise <sub> (%k, %last) : (tensor<{S}xi64, #r>, tensor<i64, #r>) -> tensor<{S}xi64, #r>
  %f = nn.cast %d : tensor<{S}xi64, #r> -> tensor<{S}xf32, #r>
  %row = nn.reshape %f : tensor<{S}xf32, #r> -> tensor<1x{S}xf32, #r>
  %slope = nn.elementwise <mul> (%row, %slopes) : (tensor<1x{S}xf32, #r>, tensor<2x1xf32, #r>) -> tensor<2x{S}xf32, #r>
  %bit = nn.cast %m : tensor<1x{S}xi64, #b> -> tensor<1x{S}xi1, #b>
  %mask = nn.reshape %bit : tensor<1x{S}xi1, #b> -> tensor<1x1x{S}xi1, #b>
  %score = nn.elementwise <select> (%mask, %slope, %low) : (tensor<1x1x{S}xi1, #b>, tensor<2x{S}xf32, #r>, tensor<f32, #r>) -> tensor<1x2x{S}xf32, #b>
  %p = nn.softmax(%score) {axis = 2 : i64} : (tensor<1x2x{S}xf32, #b>) -> tensor<1x2x{S}xf32, #b>
  %y = nn.contract "bhs,bsd->bhd" (%p, %x) : (tensor<1x2x{S}xf32, #b>, tensor<1x{S}x4xf32, #b>) -> tensor<1x2x4xf32, #b>
  return %y : tensor<1x2x4xf32, #b>
}
