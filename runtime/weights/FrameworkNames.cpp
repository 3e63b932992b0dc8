// SPDX-License-Identifier: Apache-2.0
// Names for load_state_dict, and sentences about those that the export lost.
#include "runtime/weights/FrameworkNames.h"
#include "runtime/files/Array.h"

namespace accum::runtime {
namespace {

constexpr const char *kUnfolded =
    "optimize=False of the dynamo exporter, do_constant_folding=False of the TorchScript one";

/// A list for one sentence, cut where nobody would read on.
class Names {
public:
  void add(const std::string &text) {
    constexpr size_t shown = 8;
    if (count++ < shown)
      list += (list.empty() ? "" : ", ") + text;
  }
  bool isEmpty() const { return count == 0; }
  std::string text() const {
    constexpr size_t shown = 8;
    return count > shown ? list + " and " + std::to_string(count - shown) + " more" : list;
  }

private:
  std::string list;
  size_t count = 0;
};

} // namespace

std::vector<AliasSpec> namesForFramework(const ParameterSpec &param) {
  if (!param.framework.empty() || !param.trained)
    return param.framework;
  return {{param.onnxName}};
}

std::vector<std::string> missingForFramework(const Manifest &manifest) {
  Names rows, made, unknown, lacking;
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained || !param.framework.empty())
      continue;
    std::string own = quotedName(param.onnxName) + " " + formatShape(param.shape);
    if (param.isRows)
      rows.add(quotedName(param.madeOf) + " (here " + own + ")");
    else if (!param.madeOf.empty())
      made.add(quotedName(param.madeOf) + " (here " + own + ")");
    else
      unknown.add(own);
  }
  for (const std::string &name : manifest.stateLacks)
    lacking.add(quotedName(name));
  std::vector<std::string> notes;
  std::string begin = "--names framework: ";
  if (!rows.isEmpty())
    notes.push_back(
        begin + "of " + rows.text() +
        " the model file holds only the rows that the export read, not which ones or how many "
        "there are; they are saved under the model file's name, for load_state_dict(strict=False) "
        "and a copy by hand; " +
        kUnfolded + " keep the table whole");
  if (!made.isEmpty())
    notes.push_back(begin + "of " + made.text() +
                    " the export moved the elements and does not tell how; they are saved under the model "
                    "file's name; " +
                    kUnfolded + " keep them as they are");
  if (!unknown.isEmpty())
    notes.push_back(begin + unknown.text() +
                    " saved under the model file's name, which does not tell the module; " + kUnfolded +
                    " keep the names");
  if (!lacking.isEmpty())
    notes.push_back(begin + lacking.text() +
                    " not saved: the export dropped them, or the loss does not read them; "
                    "load_state_dict(strict=False) keeps the model's own");
  return notes;
}

} // namespace accum::runtime
