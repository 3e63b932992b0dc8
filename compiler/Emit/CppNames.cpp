// SPDX-License-Identifier: Apache-2.0
// Names that a C++ compiler takes.
#include "compiler/Emit/CppNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace accum::emit {

static bool isKeyword(StringRef name) {
  static const StringSet<> keywords = {"alignas",      "alignof",       "and",          "and_eq",
                                       "asm",          "auto",          "bitand",       "bitor",
                                       "bool",         "break",         "case",         "catch",
                                       "char",         "char8_t",       "char16_t",     "char32_t",
                                       "class",        "co_await",      "co_return",    "co_yield",
                                       "compl",        "concept",       "const",        "consteval",
                                       "constexpr",    "constinit",     "const_cast",   "continue",
                                       "decltype",     "default",       "delete",       "do",
                                       "double",       "else",          "enum",         "explicit",
                                       "export",       "extern",        "false",        "float",
                                       "for",          "friend",        "goto",         "if",
                                       "inline",       "int",           "long",         "mutable",
                                       "namespace",    "new",           "noexcept",     "not",
                                       "not_eq",       "nullptr",       "operator",     "or",
                                       "or_eq",        "private",       "protected",    "public",
                                       "register",     "requires",      "return",       "short",
                                       "signed",       "sizeof",        "static",       "struct",
                                       "switch",       "template",      "this",         "throw",
                                       "true",         "try",           "typedef",      "typeid",
                                       "typename",     "union",         "unsigned",     "using",
                                       "virtual",      "void",          "volatile",     "wchar_t",
                                       "while",        "xor",           "xor_eq",       "static_cast",
                                       "thread_local", "static_assert", "dynamic_cast", "reinterpret_cast",
                                       "linux",        "unix"};
  return keywords.contains(name);
}

static std::string identifier(StringRef label) {
  std::string name;
  for (char c : label)
    if (isAlnum(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  if (name.empty() || isDigit(name.front()))
    name = "t" + name;
  return isKeyword(name) ? name + "_" : name;
}

CppNames::CppNames(ArrayRef<StringRef> reserved) {
  for (StringRef name : reserved)
    taken.insert(name);
}

std::string CppNames::unique(StringRef label) {
  std::string name = identifier(label), candidate = name;
  for (int i = 2; !taken.insert(candidate).second; ++i)
    candidate = name + "_" + std::to_string(i);
  return candidate;
}

std::string cppComment(StringRef text) {
  std::string comment;
  for (char c : text)
    comment += isPrint(c) || (c & 0x80) ? c : '?';
  if (!comment.empty() && comment.back() == '\\')
    comment.back() = '/';
  return comment;
}

} // namespace accum::emit
