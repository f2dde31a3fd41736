// The journal of a sweep: a line of JSON with its plan, then a line for every point that has finished, in the order in
// which they did. A crash loses no line that was written; a line that was cut off is ignored. Each line ends with a
// CRC-32 of what stands before it: what became of it on the disk does not become a result.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "planner/sweep/plan.h"

namespace kvsim::planner::sweep {

/// A JSON object with some key, with a CRC-32 of itself as its last key, on one line.
std::string sealed(std::string_view object);
/// Whether it is as sealed() wrote it.
bool is_intact(std::string_view line);

/// A point that is done with.
struct PointResult {
  std::size_t point = 0;
  std::string reason;  ///< why it cannot be simulated; empty: it was
  std::string result;  ///< JSON, as the runner's caller wrote it; empty where it cannot be simulated
  std::vector<std::string> assumptions{};  ///< what was taken for granted, in words
  std::vector<std::string> fallbacks{};    ///< figures that had to be replaced, in words
  std::vector<std::string> how_sure{};     ///< how wrong its figures may be, in words

  [[nodiscard]] bool simulated() const { return reason.empty(); }
  friend bool operator==(const PointResult&, const PointResult&) = default;
};

/// The journal cannot be written: a full disk, a folder that has gone.
class JournalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct JournalContents {
  Plan plan;
  std::vector<PointResult> points;  ///< in the order in which they finished
  std::size_t bytes = 0;            ///< up to the end of the last line that is there to its end

  /// A line that is not what was written; none are named where all points are there.
  struct Damaged {
    int line = 0;
    std::optional<std::size_t> point;  ///< that lacks, as far as it can be told
  };
  std::vector<Damaged> damaged;
};

/// "points.jsonl:3:1: damaged: its checksum is another one; point 1 is simulated again".
std::string to_string(const JournalContents::Damaged& damaged, const std::string& path);

/// Reads a journal. No value where the file is empty or even its first line was cut off. Throws schema::InputError
/// where there is no such file, its first line is damaged, or a line that is as it was written is no line of a journal.
std::optional<JournalContents> read_journal(const std::string& path);

/// Writes a journal. Lines are handed to the system at once, by whoever appends them; getting them to the disk, every
/// so often, is the work of a thread of the journal's own.
class Journal {
 public:
  /// Opens the file, made if it is not there. The caller has locked its folder. No link is followed. Throws
  /// JournalError where it cannot be written.
  static std::unique_ptr<Journal> open(const std::string& path);
  /// Gives the file up, and takes it away where nothing is in it.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether nothing is in it.
  [[nodiscard]] bool empty() const;
  /// Goes on after `bytes` bytes of whole lines; what follows them is cut off. Throws JournalError.
  void keep(std::size_t bytes);
  /// Writes the first line, into a journal that keeps nothing. Throws JournalError.
  void begin(const Plan& plan);
  /// May be called by several threads at once. Throws JournalError; the journal then ends with the line before.
  void append(const PointResult& result);
  /// Makes sure that everything is on the disk. Throws JournalError.
  void close();

 private:
  Journal(std::string path, int file);
  void write_line(std::string line);
  void flush_until_stopped();
  void stop();

  std::string path_;
  int file_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t bytes_ = 0;
  int error_ = 0;
  bool unflushed_ = false;
  bool stopping_ = false;
  std::thread flusher_;  // last: it uses the others
};

// Puts the shards of a sweep together.

struct MergedSweep {
  Plan plan;  ///< of the whole
  std::vector<PointResult> points;
};

/// Reads the journals of all shards, in any order. Throws schema::InputError where they are not of one sweep, a point
/// is in two of them, or one is missing.
MergedSweep merge_journals(const std::vector<std::string>& paths);

}  // namespace kvsim::planner::sweep
