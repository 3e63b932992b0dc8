// SPDX-License-Identifier: Apache-2.0
// Runs of a toy that write checkpoints.
#ifndef ACCUM_TEST_RUNTIME_TOYJOB_H
#define ACCUM_TEST_RUNTIME_TOYJOB_H

#include "runtime/files/File.h"
#include "test/runtime/ToyTraining.h"
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace accum::test {

/// A toy, the words of a run of `steps`, and where its checkpoints are.
struct ToyJob {
  ToyJob(const std::string &name, const ToyOptions &options, int steps, const std::string &more = "")
      : files(prepareToy(name, options, makeToyData(23), {.steps = 0, .shuffle = true, .seed = 9})),
        root(std::filesystem::path(files.saved).parent_path() / "checkpoints"),
        words(replaced(files.words, "--steps 0", "--steps " + std::to_string(steps)) + " " + more) {
    words = replaced(words, " --dump-gradients " + files.gradients, "");
  }

  static std::string replaced(std::string text, const std::string &what, const std::string &by) {
    return text.replace(text.find(what), what.size(), by);
  }
  std::string weights() const {
    auto text = runtime::readText(files.saved, 1 << 20);
    return text ? *text : "";
  }
  std::vector<std::string> names() const {
    std::set<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(root))
      found.insert(entry.path().filename());
    return {found.begin(), found.end()};
  }

  ToyFiles files;
  std::string root, words;
};

} // namespace accum::test
#endif
