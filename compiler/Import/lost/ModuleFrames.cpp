// SPDX-License-Identifier: Apache-2.0
// Aligns frames with modules as two sequences are: each pair has a score, and the best sum wins.
#include "compiler/Import/lost/ModuleFrames.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/parameters/Signature.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <regex>

namespace accum::import {
namespace {

constexpr int kOwnFile = 8;   ///< the frame is in the file of the module's class
constexpr int kMain = 4;      ///< the class is in `__main__`, which may be any file
constexpr int kNamed = 4;     ///< the caller's line names the module's attribute
constexpr int kMethod = 2;    ///< the frame's lines speak of `self`
constexpr int kKnown = 3;     ///< elsewhere a trace ends in this module's forward there
constexpr int kOutside = -4;  ///< or in that of a module around it
constexpr int kOtherFile = 1; ///< a forward that is inherited, or that was replaced

/// How names begin of what was there before.
constexpr std::string_view kReplaced[] = {"inner", "old", "orig", "base", "wrapped"};

/// What stands before brackets and calls no forward.
constexpr std::initializer_list<std::string_view> kNoCalls = {"dict",   "zip", "tuple", "list", "if",
                                                              "return", "in",  "and",   "or",   "not"};

bool isOfName(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Where `word` stands in `text` as a name of its own, from `at` on.
size_t findName(std::string_view text, std::string_view word, size_t at = 0) {
  for (at = text.find(word, at); at != std::string_view::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isOfName(text[at - 1])) && (end == text.size() || !isOfName(text[end])))
      return at;
  }
  return std::string_view::npos;
}

/// The name that ends at `end`, or "".
std::string_view nameAt(std::string_view code, size_t end) {
  size_t begin = end;
  while (begin > 0 && isOfName(code[begin - 1]))
    --begin;
  return code.substr(begin, end - begin);
}

/// `x` of `x.weight`, where `dot` is; "" in `x.y.weight`.
std::string_view ownerAt(std::string_view code, size_t dot) {
  std::string_view name = nameAt(code, dot);
  bool isNested = dot > name.size() && code[dot - name.size() - 1] == '.';
  return isNested ? std::string_view() : name;
}

/// `attn` of `h.0.attn`; "" of a number, which no line names.
std::string_view lastPart(std::string_view path) {
  std::string_view part = path.substr(path.rfind('.') + 1); // npos + 1 is 0
  bool isNumber = part.find_first_not_of("0123456789") == std::string_view::npos;
  return isNumber ? std::string_view() : part;
}

/// What follows `def forward(self, x):` where it all stands in one line.
std::string_view body(std::string_view code) {
  size_t end = code.starts_with("def ") ? code.find(')') : std::string_view::npos;
  end = end == std::string_view::npos ? end : code.find(':', end);
  return end == std::string_view::npos ? code : code.substr(end + 1);
}

/// `models/bert` of `/lib/models/bert.py`, without the root.
std::string_view withoutSuffix(std::string_view file) {
  for (std::string_view suffix : {"/__init__.py", ".py"})
    if (file.ends_with(suffix))
      return file.substr(0, file.size() - suffix.size());
  return file;
}

/// The class `models.bert.Layer` is in `/lib/models/bert.py`, or in a file that lost its folders. Classes in
/// functions have longer names: `models.bert.make.<locals>.Layer`.
bool isFileOf(std::string path, std::string_view file) {
  std::replace(path.begin(), path.end(), '.', '/');
  std::string_view module = path, stem = withoutSuffix(file);
  for (size_t end = module.rfind('/'); end != std::string_view::npos; end = module.rfind('/')) {
    module = module.substr(0, end);
    bool isLonger = stem.size() > module.size() && stem[stem.size() - module.size() - 1] == '/';
    bool isShorter = module.size() > stem.size() && module[module.size() - stem.size() - 1] == '/';
    if (module == stem || (isLonger && stem.ends_with(module)) ||
        (isShorter && !stem.empty() && module.ends_with(stem)))
      return true;
  }
  return false;
}

std::vector<std::string> classesOf(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.class_hierarchy");
  return entry == node.metadata.end() ? std::vector<std::string>() : quotedStrings(entry->second);
}

/// The bracket that the one at `close` closes; npos for none.
size_t openOf(std::string_view code, size_t close) {
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    depth += code[i] == ')' ? 1 : code[i] == '(' ? -1 : 0;
    if (depth == 0)
      return i;
  }
  return std::string_view::npos;
}

/// `Loss(2)(x)` and `nn.Sequential(a, b)(x)`, where the bracket after the name is at `open`.
bool callsWhatItMakes(std::string_view code, std::string_view name, size_t open) {
  size_t next = code.find(")(", open);
  while (next != std::string_view::npos && openOf(code, next) != open)
    next = code.find(")(", next + 1);
  return next != std::string_view::npos && std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

/// `old_forward(x)`, `inner(x)`: what a forward is called that another one replaces.
bool isReplaced(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return name.find("forward") != std::string_view::npos ||
         std::any_of(std::begin(kReplaced), std::end(kReplaced),
                     [&](std::string_view word) { return name.starts_with(word); });
}
} // namespace

std::string appliedIn(std::string_view code) {
  static const std::regex apply(R"(([A-Za-z_][A-Za-z_0-9]*)\.apply\()");
  std::match_results<std::string_view::const_iterator> match;
  bool isFound = code.find(".apply(") != std::string_view::npos &&
                 std::regex_search(code.begin(), code.end(), match, apply);
  std::string name = isFound ? match[1].str() : "";
  return name == "self" || name == "super" ? "" : name;
}

bool appliesClass(const SourceFrame &frame) {
  std::string name = appliedIn(frame.code);
  size_t first = name.find_first_not_of('_');
  return first != std::string::npos && std::isupper(static_cast<unsigned char>(name[first])) != 0;
}

bool callsModule(const SourceFrame &frame) {
  std::string_view code = body(frame.code);
  bool isFound = false, hasOthers = false;
  for (size_t open = code.find('('); open != std::string_view::npos; open = code.find('(', open + 1)) {
    std::string_view name = nameAt(code, open);
    if (name.empty() || isOneOf(name, kNoCalls))
      continue;
    bool isOfOther = open > name.size() && code[open - name.size() - 1] == '.';
    if (isOfOther && name == "forward")
      return true;
    bool isModule = isReplaced(name) || callsWhatItMakes(code, name, open);
    isFound |= isModule;
    hasOthers |= !isModule && !isOfOther;
  }
  return isFound && !hasOthers; // in `f(inner(x))` either may be it
}

size_t AlignedTrace::countModules() const {
  return frames.size() - static_cast<size_t>(std::count(owners.begin(), owners.end(), -1));
}

bool AlignedTrace::hasInnermost() const {
  auto innermost = static_cast<ptrdiff_t>(scopes.size()) - 1;
  return std::find(owners.begin(), owners.end(), innermost) != owners.end();
}

size_t AlignedTrace::endOfModules() const {
  auto last = std::find_if(owners.rbegin(), owners.rend(), [](ptrdiff_t owner) { return owner >= 0; });
  return static_cast<size_t>(owners.rend() - last);
}

std::string callPlace(const std::vector<SourceFrame> &frames, size_t frame) {
  if (frame == 0)
    return std::string(frames[frame].file);
  return fmt::format("{}:{} {}", frames[frame - 1].file, frames[frame - 1].line, frames[frame].file);
}

ModuleFrames::ModuleFrames(const Graph &graph) {
  collectFiles(graph);
  Signature signature = Signature::of(graph);
  auto held = signature.placeholders;
  held.insert(signature.bufferPlaceholders.begin(), signature.bufferPlaceholders.end());
  for (const Node &node : graph.nodes)
    learnFrom(node, held);
  for (const Node &node : graph.nodes) {
    std::vector<SourceFrame> frames = sourceFrames(node);
    for (size_t i = 0; i < frames.size(); ++i)
      if (speaksOfSelf(frames[i]))
        methods.insert(callPlace(frames, i));
  }
  collectPlaces(graph);
}

/// Of traces that end in the innermost module's own forward, or in a method of another one around it.
void ModuleFrames::collectPlaces(const Graph &graph) {
  std::map<std::string, Names, std::less<>> found;
  for (const Node &node : graph.nodes) {
    AlignedTrace trace = align(node);
    if (trace.frames.empty() || trace.scopes.empty())
      continue;
    size_t last = trace.frames.size() - 1;
    bool isApplied = last > 0 && appliesClass(trace.frames[last - 1]);
    bool isOwn = trace.owners[last] == static_cast<ptrdiff_t>(trace.scopes.size()) - 1;
    if (!isApplied && (isOwn || speaksOfSelf(trace.frames[last])))
      found[callPlace(trace.frames, last)].insert(trace.scopes.back());
  }
  known = std::move(found);
}

void ModuleFrames::collectFiles(const Graph &graph) {
  std::set<std::string> files, classes;
  for (const Node &node : graph.nodes) {
    for (const SourceFrame &frame : sourceFrames(node))
      files.emplace(frame.file);
    for (std::string &type : classesOf(node))
      classes.insert(std::move(type));
  }
  for (const std::string &type : classes)
    for (const std::string &file : files)
      if (isFileOf(type, file)) {
        ownFiles[type].insert(file);
        owned.insert(file);
      }
}

/// Who writes `s.w` for a parameter called `w`, or calls `s.attn` for the module of that name, writes `s` for
/// `self`.
void ModuleFrames::learn(const SourceFrame &frame, std::string_view attribute) {
  if (attribute.empty())
    return;
  for (size_t at = findName(frame.code, attribute); at != std::string_view::npos;
       at = findName(frame.code, attribute, at + 1)) {
    bool isAttribute = at > 0 && frame.code[at - 1] == '.';
    std::string_view owner = isAttribute ? ownerAt(frame.code, at - 1) : std::string_view();
    if (!owner.empty() && !isOneOf(owner, {"self", "torch", "F", "nn", "functional", "math", "ctx"}))
      selves[std::string(frame.file)].emplace(owner);
  }
}

void ModuleFrames::learnFrom(const Node &node, const std::map<std::string, std::string, std::less<>> &held) {
  std::vector<SourceFrame> frames = sourceFrames(node);
  for (const std::string &scope : frames.empty() ? std::vector<std::string>() : moduleScopes(node))
    for (size_t i = 0; i + 1 < frames.size(); ++i)
      learn(frames[i], lastPart(scope));
  std::optional<TracedCall> call = frames.empty() ? std::nullopt : TracedCall::of(node);
  for (const std::string &operand : call ? call->operands() : std::vector<std::string>())
    if (auto target = held.find(operand); target != held.end())
      learn(frames.back(), lastPart(target->second));
}

bool ModuleFrames::speaksOfSelf(const SourceFrame &frame) const {
  auto speaksOf = [&](std::string_view name) {
    size_t at = findName(frame.code, name);
    while (at != std::string_view::npos && !frame.code.substr(at + name.size()).starts_with('.'))
      at = findName(frame.code, name, at + 1);
    return at != std::string_view::npos;
  };
  auto own = selves.find(frame.file);
  return speaksOf("self") ||
         (own != selves.end() && std::any_of(own->second.begin(), own->second.end(), speaksOf));
}

int ModuleFrames::scoreOfFile(std::string_view file, const std::string &type) const {
  if (file == "<string>") // generated around the module
    return 0;
  auto own = ownFiles.find(type);
  if (own != ownFiles.end() && own->second.count(file) != 0)
    return kOwnFile;
  return type.starts_with("__main__.") && owned.count(file) == 0 ? kMain : kOtherFile;
}

int ModuleFrames::scoreOfPlace(const std::string &place, const std::vector<std::string> &scopes,
                               size_t scope) const {
  auto modules = known.find(place);
  if (modules == known.end())
    return 0;
  if (modules->second.count(scopes[scope]) != 0)
    return kKnown;
  auto isThere = [&](const std::string &outer) { return modules->second.count(outer) != 0; };
  return std::any_of(scopes.begin(), scopes.begin() + static_cast<ptrdiff_t>(scope), isThere) ? kOutside : 0;
}

std::vector<std::vector<int>> ModuleFrames::scoresOf(const Node &node, const AlignedTrace &trace) const {
  std::vector<std::string> classes = classesOf(node);
  classes.resize(std::max(classes.size(), trace.scopes.size()));
  std::vector<std::vector<int>> scores;
  for (size_t i = 0; i < trace.frames.size(); ++i) {
    std::vector<int> &row = scores.emplace_back();
    bool isApplied = i > 0 && appliesClass(trace.frames[i - 1]);
    std::string place = callPlace(trace.frames, i);
    bool isMethod = !isApplied && methods.count(place) != 0;
    for (size_t k = 0; k < trace.scopes.size(); ++k) {
      int file = scoreOfFile(trace.frames[i].file, classes[k]);
      std::string_view name = i == 0 || k == 0 ? std::string_view() : lastPart(trace.scopes[k]);
      bool isNamed = !name.empty() && findName(trace.frames[i - 1].code, name) != std::string_view::npos;
      int sum =
          file + (isNamed ? kNamed : 0) + (isMethod ? kMethod : 0) + scoreOfPlace(place, trace.scopes, k);
      row.push_back(file == 0 ? 0 : std::max(sum, 0));
    }
  }
  return scores;
}

AlignedTrace ModuleFrames::align(const Node &node) const {
  AlignedTrace trace{sourceFrames(node), moduleScopes(node), {}};
  size_t frames = trace.frames.size(), scopes = trace.scopes.size();
  std::vector<std::vector<int>> scores = scoresOf(node, trace);
  // The best sum for the frames and scopes from these on. Of equal ones the outer frame is the module's.
  std::vector<std::vector<int>> best(frames + 1, std::vector<int>(scopes + 1));
  for (size_t i = frames; i-- > 0;)
    for (size_t k = scopes; k-- > 0;)
      best[i][k] = std::max({scores[i][k] + best[i + 1][k + 1], best[i + 1][k], best[i][k + 1]});
  trace.owners.assign(frames, -1);
  for (size_t i = 0, k = 0; i < frames && k < scopes;)
    if (best[i][k] == scores[i][k] + best[i + 1][k + 1]) {
      trace.owners[i++] = static_cast<ptrdiff_t>(k++);
    } else {
      ++(best[i][k] == best[i + 1][k] ? i : k);
    }
  return trace;
}

} // namespace accum::import
