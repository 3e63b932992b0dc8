// SPDX-License-Identifier: Apache-2.0
// From MLIR diagnostics to messages for people and an exit code.
#include "compiler/Driver/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::driver {

int exitCodeOf(llvm::StringRef message) {
  static const std::pair<llvm::StringRef, int> codes[] = {
#define ACCUM_ERROR(slug, code, meaning) {slug, code},
#include "compiler/Driver/Errors.def"
  };
  for (auto [slug, code] : codes)
    if (message.trim().ends_with(("[" + slug + "]").str()))
      return code;
  return 70;
}

/// "`name` (OpType): " of the ONNX node that a location names.
static std::string nodeOf(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? "" : nodeOf(fused.getLocations().front());
  auto name = dyn_cast<NameLoc>(location);
  if (!name)
    return "";
  std::string text = "`" + name.getName().str() + "`";
  if (auto type = dyn_cast<NameLoc>(name.getChildLoc()))
    text += " (" + type.getName().str() + ")";
  return text + ": ";
}

Diagnostics::Diagnostics(MLIRContext &context, std::string subject)
    : Messages(std::move(subject)), handler(&context, [this](Diagnostic &d) { return handle(d); }) {}

LogicalResult Diagnostics::handle(Diagnostic &diagnostic) {
  std::string text = nodeOf(diagnostic.getLocation()) + diagnostic.str();
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
    addNotice(text);
    return success();
  }
  std::vector<std::string> notes;
  for (Diagnostic &note : diagnostic.getNotes())
    notes.push_back(note.str());
  add(text, notes);
  return success();
}

void Messages::add(const std::string &message, const std::vector<std::string> &notes) {
  messages.push_back({Severity::Error, subject, message, notes});
}

void Messages::addNotice(const std::string &text) {
  if (!isQuiet)
    messages.push_back({Severity::Notice, "", text, {}});
}

void Messages::append(const Messages &others) {
  for (const Message &message : others.messages)
    if (message.severity != Severity::Notice || !isQuiet)
      messages.push_back(message);
}

void Diagnostics::dropNotices(StringRef prefix) {
  llvm::erase_if(messages, [&](const Message &message) {
    return message.severity == Severity::Notice && StringRef(message.text).starts_with(prefix);
  });
}

void Diagnostics::addNote(const std::string &text) {
  if (messages.empty())
    messages.push_back({Severity::Note, "", text, {}});
  else
    messages.back().notes.push_back(text);
}

std::vector<std::string> Diagnostics::errors() const {
  std::vector<std::string> texts;
  for (const Message &message : messages)
    if (message.severity == Severity::Error)
      texts.push_back(message.text);
  return texts;
}

const Message *Diagnostics::firstError() const {
  auto found = llvm::find_if(messages, [](const Message &each) { return each.severity == Severity::Error; });
  return found == messages.end() ? nullptr : &*found;
}

bool Diagnostics::onlyCrossBatch() const {
  return firstError() && llvm::all_of(messages, [](const Message &message) {
           return message.severity != Severity::Error || slugOf(message.text) == "cross-batch";
         });
}

void Diagnostics::say(Output &output) const {
  for (const Message &message : messages)
    output.message(message);
}

std::string Diagnostics::reason() const {
  const Message *first = firstError();
  return !first || exitCodeOf(first->text) == 70 ? "internal" : slugOf(first->text);
}

int Diagnostics::exitCode() const { return firstError() ? exitCodeOf(firstError()->text) : 70; }

} // namespace accum::driver
