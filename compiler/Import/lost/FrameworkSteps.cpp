// SPDX-License-Identifier: Apache-2.0
// Compares the lines that two nodes come from, and running sums.
#include "compiler/Import/lost/FrameworkSteps.h"
#include "compiler/Import/lost/SourceTrace.h"
#include <algorithm>
#include <cctype>

namespace accum::import {
namespace {

bool isSameLine(const SourceFrame &a, const SourceFrame &b) { return a.file == b.file && a.line == b.line; }

/// What a torch.autograd.Function does can have any gradient.
bool callsFunction(const SourceFrame &frame) { return frame.code.find(".apply(") != std::string_view::npos; }

/// Frames of the reader where the source comes from the same line; none otherwise.
std::vector<SourceFrame> commonFrames(const Node &source, const Node &reader) {
  std::vector<SourceFrame> from = sourceFrames(source), to = sourceFrames(reader);
  bool isSame = std::equal(from.begin(), from.end(), to.begin(), to.end(), isSameLine) &&
                std::none_of(to.begin(), to.end(), callsFunction);
  return isSame ? to : std::vector<SourceFrame>();
}

/// `x.a[0]` in front of `end`.
std::string_view receiverBefore(std::string_view code, size_t end) {
  size_t begin = end;
  for (int depth = 0; begin > 0; --begin) {
    char c = code[begin - 1];
    bool isClosing = c == ')' || c == ']', isOpening = c == '(' || c == '[';
    if (isOpening && depth == 0)
      break;
    if (depth == 0 && !isClosing && c != '.' && c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0)
      break;
    depth += isClosing - isOpening;
  }
  return code.substr(begin, end - begin);
}

/// One past the bracket that closes the one at `open`; `open` where none does.
size_t endOfBracket(std::string_view code, size_t open) {
  int depth = 0;
  for (size_t at = open; at < code.size(); ++at) {
    depth += (code[at] == '(') - (code[at] == ')');
    if (depth == 0)
      return at + 1;
  }
  return open;
}

/// All `x.sigmoid(...)` and `torch.sigmoid(...)` of a line.
std::vector<std::string_view> callsOf(std::string_view code, std::string_view operation) {
  std::vector<std::string_view> calls;
  for (size_t at = code.find(operation); at != std::string_view::npos; at = code.find(operation, at + 1)) {
    size_t open = at + operation.size();
    if (open >= code.size() || code[open] != '(')
      continue;
    std::string_view receiver = receiverBefore(code, at);
    if (size_t end = endOfBracket(code, open); end != open && receiver.ends_with('.'))
      calls.push_back(code.substr(at - receiver.size(), end - at + receiver.size()));
  }
  return calls;
}
} // namespace

bool isStepOfOneLine(const Node &source, const Node &reader, std::string_view operation) {
  if (commonFrames(source, reader).empty())
    return false;
  std::optional<TracedCall> made = TracedCall::of(source), read = TracedCall::of(reader);
  bool isOfNorm =
      made && read && made->operation() == "linalg_vector_norm" && read->operation() == "clamp_min";
  return isOneOf(operation, {"mul", "div", "add", "sub"}) || (operation == "clone" && isOfNorm);
}

bool isWrittenTwice(const Node &source, const Node &reader, std::string_view operation) {
  std::vector<SourceFrame> frames = commonFrames(source, reader);
  if (frames.empty())
    return false;
  std::vector<std::string_view> calls = callsOf(frames.back().code, operation);
  std::sort(calls.begin(), calls.end());
  return calls.size() > 1 && calls.front() == calls.back();
}

bool isFirstTurn(const TracedCall &call, std::string_view operand) {
  std::vector<std::string> operands = call.operands();
  return withoutNumber(operand) == "add" && call.operation() == "add" &&
         std::count(operands.begin(), operands.end(), operand) == 1;
}

} // namespace accum::import
