// Files that appear whole or not at all: written beside their place under another name, then renamed.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/output/results_folder.h"

namespace kvsim::cli {

/// Whether two paths are of one file, which need not be there yet.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

/// Refuses to write over a file that the command reads, by whatever name or link. `option` is what named the output.
/// Throws schema::InputError.
void refuse_input(std::string_view option, const std::string& output, std::span<const std::string> inputs);

/// Throws schema::InputError where the file exists, unless `force`. An empty path is none.
void refuse_to_overwrite(const std::string& path, bool force);

/// One file to be. No link is followed: what stands under the name, a symbolic link too, is replaced, and what it
/// points to stays as it is. Devices and the like are refused, and links to them. Until commit() it exists only under a
/// temporary name in the same folder, which the destructor removes.
class PendingFile {
 public:
  /// Creates the temporary file, and with it shows that the folder can be written. Throws OutputError.
  explicit PendingFile(const std::string& path);
  ~PendingFile();
  PendingFile(PendingFile&& other) noexcept;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  PendingFile& operator=(PendingFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  /// Puts `text` into the temporary file. Throws OutputError.
  void write(std::string_view text) const;
  /// Makes sure of the contents and gives the file its name. Throws OutputError.
  void commit();
  /// Makes it a file of the set that a folder gets next. Throws OutputError.
  void commit_to(const output::LockedFolder& folder);

 private:
  std::string path_;
  std::string temporary_;
};

/// A PendingFile that is written bit by bit: as gzip where its name ends in ".gz", else as it is.
class PendingStream {
 public:
  /// Throws OutputError, as PendingFile does.
  explicit PendingStream(const std::string& path);
  ~PendingStream();
  PendingStream(PendingStream&& other) noexcept;
  PendingStream(const PendingStream&) = delete;
  PendingStream& operator=(const PendingStream&) = delete;
  PendingStream& operator=(PendingStream&&) = delete;

  /// Stays where it is when this moves. A failure is remembered: close() says it.
  [[nodiscard]] std::ostream& out();
  /// Writes what is left; nothing may follow. Throws OutputError where anything could not be written.
  void close();
  /// As of PendingFile, once it is closed.
  void commit();
  void commit_to(const output::LockedFolder& folder);
  [[nodiscard]] const PendingFile& file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Properties of a set of files besides its files.
struct SetTraits {
  std::vector<std::string> timed = {};  ///< of these the contents differ between equal runs: they hold wall-clock times
  std::string journal = {};             ///< a file beside them that the command appends to while it runs
  std::string interrupted = {};         ///< a sentence on what there is, where the command was interrupted
  std::vector<PendingStream*> streams = {};  ///< closed: those in the folder join the set, the others are committed
};

/// A folder for results, of option --out, which this process alone writes (output::LockedFolder). Made if it is not
/// there, and removed again if nothing came to be in it.
class OutputFolder {
 public:
  /// `names` are files that will be in it, at least one; `inputs` what the command reads. Throws schema::InputError
  /// where one would be the other, and OutputError where the folder cannot be made, another kvsim is at work in it, or
  /// the first file cannot be written.
  OutputFolder(std::string path, const std::vector<std::string>& names, std::vector<std::string> inputs);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// The entries that are removed while no result is in it, in this order: the lock, and the folders that had to be
  /// made.
  [[nodiscard]] std::span<const std::string> made() const { return made_; }
  /// Writes all the files ({name, contents}) as one set: the folder holds the earlier set or this one, whenever the
  /// process ends. Throws OutputError, and schema::InputError, and writes none, where one that the constructor was not
  /// told of is an input.
  void write(const std::vector<std::pair<std::string, std::string>>& files, const SetTraits& traits = {});
  /// Writes a file that stands for itself. Threads may call it for different files. Throws OutputError.
  void write_alone(const std::string& name, const std::string& text) const { lock_->write_alone(name, text); }
  /// Before a journal begins: removes the earlier set that one of this name belonged to.
  void forget(const std::string& journal) { lock_->forget(journal); }

 private:
  void make();
  void remove_if_empty() noexcept;

  std::string path_;
  std::vector<std::string> inputs_;
  std::vector<std::string> made_;
  std::optional<output::LockedFolder> lock_;
};

}  // namespace kvsim::cli
