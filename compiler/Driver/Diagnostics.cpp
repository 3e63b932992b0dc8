// SPDX-License-Identifier: Apache-2.0
// From MLIR diagnostics to messages for people and an exit code.
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Planner/Problem/Printable.h"
#include "llvm/Support/raw_ostream.h"

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

/// A name may be the whole file: the middle of such a sentence is left out, its slug stays.
static std::string shortened(const std::string &message) {
  constexpr size_t longest = 4000, longestSlug = 60;
  if (message.size() <= longest)
    return message;
  size_t end = longest - longestSlug, slug = message.rfind(" [");
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) // inside of a character
    --end;
  bool ends = slug != std::string::npos && message.size() - slug <= longestSlug;
  return message.substr(0, end) + "..." + (ends ? message.substr(slug) : "");
}

Diagnostics::Diagnostics(MLIRContext &context, std::string subject)
    : subject(std::move(subject)), handler(&context, [this](Diagnostic &d) { return handle(d); }) {}

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

void Diagnostics::add(const std::string &message, const std::vector<std::string> &notes) {
  messages.push_back(message);
  bool prefixed = llvm::StringRef(message).starts_with(subject);
  lines.push_back(shortened("error: " + (prefixed || subject.empty() ? "" : subject + ": ") + message));
  for (const std::string &note : notes)
    lines.push_back(shortened("note: " + note));
}

void Diagnostics::addNotice(const std::string &text) { lines.push_back("notice: " + text); }

void Diagnostics::addNote(const std::string &text) { lines.push_back("note: " + text); }

bool Diagnostics::onlyCrossBatch() const {
  return !messages.empty() && llvm::all_of(messages, [](const std::string &message) {
    return llvm::StringRef(message).ends_with("[cross-batch]");
  });
}

void Diagnostics::print() const {
  for (const std::string &line : lines)
    llvm::errs() << planner::printable(line) << "\n";
}

std::string Diagnostics::reason() const {
  if (messages.empty() || exitCodeOf(messages.front()) == 70)
    return "internal";
  llvm::StringRef text = llvm::StringRef(messages.front()).trim().drop_back();
  return text.substr(text.rfind('[') + 1).str();
}

int Diagnostics::exitCode() const { return messages.empty() ? 70 : exitCodeOf(messages.front()); }

} // namespace accum::driver
