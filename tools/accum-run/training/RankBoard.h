// SPDX-License-Identifier: Apache-2.0
// One byte per local rank in a file that launcher and ranks share: who still ran when the job was ended tells
// who died first.
#ifndef ACCUM_RUN_TRAINING_RANKBOARD_H
#define ACCUM_RUN_TRAINING_RANKBOARD_H

#include <string>
#include <vector>

namespace accum::run {

class RankBoard {
public:
  enum Mark : char { Absent = 0, Running = 'r', Told = 't', Ended = 'e' };

  /// The launcher's side: a board for `ranks`, in a file under the temporary folder that goes with the
  /// object, and named to processes started from here by an environment variable.
  explicit RankBoard(int ranks);
  /// A rank's side: the board of the environment, or none.
  RankBoard();
  ~RankBoard();
  RankBoard(const RankBoard &) = delete;
  RankBoard &operator=(const RankBoard &) = delete;

  /// Safe in a signal handler; nothing without a board.
  void set(int rank, Mark mark);
  /// Ranks with this mark.
  std::vector<int> find(Mark mark) const;

private:
  void map(const std::string &path);
  std::string path; ///< owner's only
  char *marks = nullptr;
  int ranks = 0;
};

/// This process's rank as the launcher numbers it, or 0.
int launchedRank();

/// Says why this rank could not join the others; all that fail call it. Returns `code`.
int sayOpenFailed(int code, const std::string &message, RankBoard &board);

} // namespace accum::run
#endif
