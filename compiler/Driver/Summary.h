// SPDX-License-Identifier: Apache-2.0
// What a compilation says of itself, line by line, and as JSON.
#pragma once

#include "compiler/Driver/Options.h"
#include "compiler/Import/Import.h"
#include "compiler/Report/Page.h"
#include "passes/Check/Verdict.h"
#include <nlohmann/json_fwd.hpp>

namespace accum::driver {

/// `model`, `loss`, `check`: what was read and why its batch can be cut.
std::string describeModel(const Options &options, const import::ImportReport &report, const Verdict &verdict);

/// After a refusal: that several symbols were taken for the batch, and how to say otherwise.
std::string presumedBatchNote(const import::ImportReport &report);

/// `target`, `batch`: what it is compiled for.
std::string describeTarget(const Options &options, const planner::Search &search);

/// The flags that ask for the plan that was found.
std::string pinnedChoice(const Options &options, const planner::Search &search);

/// The same facts for the page of `--report`.
planner::report::PageFacts pageFacts(const Options &options, const import::ImportReport &report);

/// The same facts for `--json`.
nlohmann::ordered_json toJson(const Options &options, const import::ImportReport &report);

/// Every root cause of a refusal by `check`: node, op, sentence, slug, notes.
nlohmann::ordered_json causesJson(const Verdict &verdict);

/// As text, also where paths, and names of a model that was refused for them, are none.
std::string jsonText(const nlohmann::ordered_json &json);

/// `123.4M`, `29,088`.
std::string humanCount(int64_t count);

} // namespace accum::driver
