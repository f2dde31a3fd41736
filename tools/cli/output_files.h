// Files that appear whole or not at all: written beside their place under another name, then renamed.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// Gives the closed file its name. Throws OutputError.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A folder for results, of option --out. Made if it is not there, and removed again if nothing came to be in it.
class OutputFolder {
 public:
  /// `names` are files that will be in it, at least one; `inputs` what the command reads. Throws schema::InputError
  /// where one would be the other, and OutputError where the folder cannot be made, or the first file written.
  OutputFolder(std::string path, const std::vector<std::string>& names, std::vector<std::string> inputs);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// The folders that had to be made for it, innermost first: they go again while nothing is in them.
  [[nodiscard]] std::span<const std::string> made() const { return made_; }
  /// Removes what a process that was killed left under temporary names of the files named to the constructor; not what
  /// another living process writes. For who alone writes them here, by a lock. What cannot be removed stays.
  void remove_leftovers() const noexcept;
  /// Writes all the files ({name, contents}), and only when every one is complete gives them their names. Throws
  /// schema::InputError, and writes none, where one that the constructor was not told of is an input.
  void write(const std::vector<std::pair<std::string, std::string>>& files);

 private:
  void make();
  void remove_if_empty() noexcept;

  std::string path_;
  std::vector<std::string> names_;
  std::vector<std::string> inputs_;
  std::vector<std::string> made_;  // folders of ours, innermost first
};

}  // namespace kvsim::cli
