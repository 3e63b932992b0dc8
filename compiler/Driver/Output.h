// SPDX-License-Identifier: Apache-2.0
// What a compilation says. Rooms of the driver say it to an Output; whoever compiles decides where it goes.
#pragma once

#include <string>
#include <vector>

namespace accum::driver {

enum class Severity { Error = 1, Warning, Notice, Note };

/// One sentence for people, with the ways out.
struct Message {
  Severity severity = Severity::Error;
  std::string subject; ///< whose message it is: the model's file name; may be empty
  std::string text;    ///< of an error: begins with the node it is about, ends in its slug in brackets
  std::vector<std::string> notes;
};

/// As it is printed: `error: SUBJECT: TEXT`, then a line `note: ` each; every line ends.
std::string toText(const Message &message);

/// The slug that `text` ends in, without brackets; empty where it ends in none.
std::string slugOf(const std::string &text);

/// The ONNX node that a message begins with, and its operator where that is said.
struct NodeName {
  std::string name, op;
};
/// Of "`name` (Op): ..." or "`name`: ..."; empty of other texts.
NodeName nodeIn(const std::string &text);

class Output {
public:
  Output() = default;
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  virtual ~Output() = default;
  virtual void message(const Message &message) = 0;
  /// Whole lines of the summary.
  virtual void text(const std::string &lines) = 0;
  /// The object of --json.
  virtual void json(const std::string &object) = 0;
};

} // namespace accum::driver
