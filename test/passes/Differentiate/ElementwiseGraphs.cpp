// SPDX-License-Identifier: Apache-2.0
// Alone, with operands that are broadcast, and where their derivative would lose digits.
#include "test/passes/Differentiate/ElementwiseGraphs.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum::test {

using Fn = nn::ElementwiseFn;

std::vector<NamedGraph> elementwiseGraphs() {
  std::vector<NamedGraph> graphs;
  for (Fn fn :
       {Fn::neg,      Fn::abs,     Fn::exp,   Fn::log,  Fn::sqrt,      Fn::rsqrt,    Fn::reciprocal, Fn::tanh,
        Fn::erf,      Fn::sigmoid, Fn::relu,  Fn::gelu, Fn::gelu_tanh, Fn::silu,     Fn::sin,        Fn::cos,
        Fn::softplus, Fn::log1p,   Fn::expm1, Fn::erfc, Fn::erfcx,     Fn::log_erfc, Fn::atan})
    graphs.push_back({nn::stringifyElementwiseFn(fn).str(), [fn](Ingredients i) {
                        return i.map(fn, {i.map(Fn::sub, {i.in, i.scalar(fn == Fn::relu ? 1.1 : 0)})});
                      }});
  for (Fn fn : {Fn::add, Fn::sub, Fn::mul, Fn::div, Fn::pow, Fn::min, Fn::max, Fn::mod, Fn::rem}) {
    std::string name = nn::stringifyElementwiseFn(fn).str();
    graphs.push_back({name, [fn](Ingredients i) { return i.map(fn, {i.in, i.other}); }});
    graphs.push_back({name + "_row", [fn](Ingredients i) {
                        Value row = nn::SliceOp::create(i.builder, i.loc(), i.typeOf({1, 4}), i.table,
                                                        ArrayRef<int64_t>{1, 0}, ArrayRef<int64_t>{1, 1});
                        return i.map(Fn::add, {i.map(fn, {i.in, row}), i.map(fn, {row, i.in})});
                      }});
  }
  for (Fn fn : {Fn::asin, Fn::acos})
    graphs.push_back({nn::stringifyElementwiseFn(fn).str(), [fn](Ingredients i) {
                        return i.map(fn, {i.map(Fn::sub, {i.map(Fn::sigmoid, {i.in}), i.scalar(0.7)})});
                      }});
  graphs.push_back({"atan2", [](Ingredients i) {
                      Value y = i.map(Fn::sub, {i.in, i.scalar(2)}),
                            x = i.map(Fn::sub, {i.other, i.scalar(1)});
                      return i.map(Fn::atan2, {y, x});
                    }});
  // Negative arguments, where erfcx is another formula.
  for (Fn fn : {Fn::erfc, Fn::erfcx, Fn::log_erfc})
    graphs.push_back({nn::stringifyElementwiseFn(fn).str() + "_left",
                      [fn](Ingredients i) { return i.map(fn, {i.map(Fn::neg, {i.in})}); }});
  graphs.push_back({"binary_cross_entropy", [](Ingredients i) {
                      Value p = i.map(Fn::sigmoid, {i.in}), t = i.map(Fn::sigmoid, {i.other});
                      return i.map(Fn::binary_cross_entropy, {p, t});
                    }});
  graphs.push_back({"sigmoid_cross_entropy", [](Ingredients i) {
                      return i.map(Fn::sigmoid_cross_entropy, {i.in, i.map(Fn::sigmoid, {i.other})});
                    }});
  // The value of a branch that is never taken is not finite, nor is its slope.
  graphs.push_back({"branch_with_a_pole",
                    [](Ingredients i) {
                      Value pole = i.map(Fn::log, {i.map(Fn::sub, {i.in, i.in})});
                      Value never = i.map(Fn::lt, {i.in, i.scalar(-1e9)});
                      return i.map(Fn::select, {never, i.map(Fn::mul, {i.in, pole}), i.in});
                    },
                    true});
  graphs.push_back({"pow_of_zero", [](Ingredients i) {
                      Value base = i.map(Fn::relu, {i.map(Fn::sub, {i.in, i.scalar(1.1)})});
                      return i.map(Fn::pow, {base, i.map(Fn::add, {i.other, i.scalar(1)})});
                    }});
  graphs.push_back({"pow_zero_of_zero", [](Ingredients i) {
                      return i.map(Fn::pow, {i.map(Fn::mul, {i.in, i.scalar(0)}), i.scalar(0)});
                    }});
  graphs.push_back({"select", [](Ingredients i) {
                      Value condition = i.map(Fn::gt, {i.other, i.scalar(1)});
                      return i.map(Fn::select, {condition, i.in, i.map(Fn::mul, {i.in, i.other})});
                    }});
  graphs.push_back({"cast", [](Ingredients i) {
                      Value wide = nn::CastOp::create(i.builder, i.loc(), i.in, i.builder.getF32Type());
                      return nn::CastOp::create(i.builder, i.loc(), wide, i.builder.getF64Type());
                    }});
  return graphs;
}

} // namespace accum::test
