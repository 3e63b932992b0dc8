// SPDX-License-Identifier: Apache-2.0
// A Problem in text form: searched, checked, shown.
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Report/Explain.h"
#include "compiler/Report/Page.h"
#include "tools/accum-plan/Surface.h"
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace accum::planner {

namespace {

Result<Options> optionsOf(const Flags &flags, const Problem &problem) {
  Options options = flags;
  if (options.batch == 0)
    options.batch = problem.batch;
  if (options.devices == 0)
    options.devices = std::max<int64_t>(1, problem.devices);
  if (options.batch == 0)
    return Error{fmt::format("{} does not say its batch", flags.input), "usage", {"--batch N says it"}};
  Result<MicroBatch> microBatch = parseMicroBatch(flags.microBatchText);
  if (!microBatch)
    return microBatch.error();
  options.microBatch = *microBatch;
  return options;
}

Status takeMemory(const Flags &flags, DeviceProfile &profile, Options &options) {
  if (flags.memory.empty())
    return {};
  Result<int64_t> bytes = parseBytes(flags.memory);
  if (!bytes)
    return bytes.error();
  limitMemory(*bytes, profile, options);
  return {};
}

Status writeReport(const Flags &flags, const Problem &problem, const DeviceProfile &profile,
                   const Options &options, const Search &search) {
  report::PageFacts facts;
  facts.title = problem.name.empty() ? flags.input : problem.name;
  facts.rows = {{"problem", flags.input}, {"made by", "accum-plan " ACCUM_VERSION}};
  facts.commandLine = flags.commandLine;
  Result<std::string> page = report::writePage(problem, profile, options, search, facts);
  return page ? writeOutput(flags.report, *page) : page.error();
}

} // namespace

int planProblem(const Flags &flags, const std::string &text) {
  Result<Problem> problem = parseProblem(text, flags.input);
  if (!problem)
    return fail(problem.error());
  Result<Options> options = optionsOf(flags, *problem);
  if (!options)
    return fail(options.error());
  Result<DeviceProfile> profile = loadProfile(flags.target);
  if (!profile)
    return fail(profile.error());
  if (Status status = takeMemory(flags, *profile, *options); !status)
    return fail(status.error());
  AlternativeCache known;
  options->known = &known;
  Result<Search> search = solve(*problem, *profile, *options);
  if (!search) {
    bool isOfFile = search.error().slug == "malformed-problem";
    return fail({(isOfFile ? flags.input + ": " : "") + search.error().message, search.error().slug,
                 search.error().notes});
  }
  for (const std::vector<std::string> *notices : {&profile->notices, &search->notices})
    for (const std::string &notice : *notices)
      note(notice);
  if (search->plan)
    if (Status status = verify(*problem, *search->plan); !status)
      return fail(status.error());
  if (!flags.report.empty())
    if (Status status = writeReport(flags, *problem, *profile, *options, *search); !status)
      return fail(status.error());
  BudgetAnswers budgets;
  if (flags.json || flags.explain) {
    Result<BudgetAnswers> answers = askBudgets(*problem, *profile, *options, *search);
    if (!answers)
      return fail(answers.error());
    budgets = *answers;
  }
  if (flags.json)
    std::cout
        << toJson(*search, budgets).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
  else
    std::cout << (search->plan ? explainPlan(*search) : "")
              << (flags.explain ? explainSearch(*search, budgets) : "");
  if (!search->plan)
    return fail(explainNoFit(*search));
  if (flags.output.empty())
    return 0;
  Status status = writeOutput(flags.output, toJson(*search->plan));
  return status ? 0 : fail(status.error());
}

} // namespace accum::planner
