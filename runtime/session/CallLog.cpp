// SPDX-License-Identifier: Apache-2.0
// Calls as complete events, microseconds from the first one on.
#include "runtime/session/CallLog.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace accum::runtime {
namespace {

using Json = nlohmann::ordered_json;

const char *categoryOf(CallFacts::Kind kind) {
  switch (kind) {
  case CallFacts::Kernel:
    return "kernel";
  case CallFacts::Gemm:
    return "gemm";
  case CallFacts::Attention:
    return "attention";
  case CallFacts::Zero:
    return "zero";
  case CallFacts::Copy:
    return "copy";
  case CallFacts::AllReduce:
    return "all-reduce";
  case CallFacts::ReduceScatter:
    return "reduce-scatter";
  case CallFacts::AllGather:
    return "all-gather";
  case CallFacts::Fetch:
    return "fetch";
  case CallFacts::Store:
    return "store";
  case CallFacts::Feed:
    return "feed";
  case CallFacts::Norm:
    break;
  }
  return "norm";
}

std::string callName(const CallFacts &facts, const std::vector<std::string> &kernelNames) {
  const int64_t *size = facts.sizes;
  if (facts.kind == CallFacts::Kernel)
    return facts.kernel < kernelNames.size() ? kernelNames[facts.kernel]
                                             : fmt::format("kernel {}", facts.kernel);
  if (facts.kind == CallFacts::Gemm)
    return fmt::format("gemm {} {}{}x{}x{}{}", facts.form, size[0] > 1 ? fmt::format("{} of ", size[0]) : "",
                       size[1], size[2], size[3], facts.flag ? " +=" : "");
  if (facts.kind == CallFacts::Attention)
    return fmt::format("attention{} {}x{} of {}x{}x{}", facts.flag ? " backward" : "", size[0], size[1],
                       size[3], size[4], size[5]);
  return categoryOf(facts.kind);
}

Json argumentsOf(const CallFacts &facts) {
  const int64_t *size = facts.sizes;
  if (facts.kind == CallFacts::Gemm)
    return {{"form", facts.form}, {"points", size[0]}, {"m", size[1]},
            {"n", size[2]},       {"k", size[3]},      {"adds", facts.flag}};
  if (facts.kind == CallFacts::Attention)
    return {{"backward", facts.flag}, {"batch", size[0]}, {"heads", size[1]},    {"groups", size[2]},
            {"queries", size[3]},     {"keys", size[4]},  {"features", size[5]}, {"value_features", size[6]}};
  if (size[0] > 0)
    return {{"bytes", size[0]}};
  return Json::object();
}

/// `n`: the columns of a row are neighbours.
char formOf(int64_t rowStride, int64_t columnStride) {
  return columnStride == 1 || rowStride != 1 ? 'n' : 't';
}

} // namespace

CallFacts factsOf(const accum_gemm &call, float beta) {
  CallFacts facts{CallFacts::Gemm};
  int64_t points = 1;
  for (int32_t d = 0; d < call.batch_dims; ++d)
    points *= call.batch[d];
  const int64_t sizes[] = {points, call.m, call.n, call.k};
  std::copy(std::begin(sizes), std::end(sizes), facts.sizes);
  facts.form[0] = formOf(call.a_row, call.a_col);
  facts.form[1] = formOf(call.b_row, call.b_col);
  facts.flag = beta != 0;
  return facts;
}

CallFacts factsOf(const accum_attention &call) {
  CallFacts facts{CallFacts::Attention};
  const int64_t sizes[] = {call.batch, call.heads,    call.groups,        call.queries,
                           call.keys,  call.features, call.value_features};
  std::copy(std::begin(sizes), std::end(sizes), facts.sizes);
  facts.flag = call.backward != 0;
  return facts;
}

std::string CallLog::toJson(const std::vector<std::string> &kernelNames, int rank) const {
  double origin = std::numeric_limits<double>::infinity();
  for (const Step &each : steps)
    origin = std::min(origin, each.begin);
  for (const Call &call : calls)
    origin = std::min(origin, call.begin);
  auto event = [&](const std::string &name, const char *category, double begin, double seconds, int thread,
                   Json arguments) {
    return Json{{"name", name},         {"cat", category}, {"ph", "X"},     {"ts", (begin - origin) * 1e6},
                {"dur", seconds * 1e6}, {"pid", rank},     {"tid", thread}, {"args", std::move(arguments)}}
        .dump();
  };
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const char *separator = "\n";
  for (const Step &each : steps) {
    text += separator + event("step " + std::to_string(each.step + 1), "step", each.begin, each.seconds, 0,
                              {{"step", each.step + 1}});
    separator = ",\n";
  }
  for (const Call &call : calls) {
    Json arguments = argumentsOf(call.facts);
    arguments["step"] = call.step + 1;
    text += separator + event(callName(call.facts, kernelNames), categoryOf(call.facts.kind), call.begin,
                              call.seconds, 0, std::move(arguments));
    separator = ",\n";
  }
  return text + "\n]}\n";
}

} // namespace accum::runtime
