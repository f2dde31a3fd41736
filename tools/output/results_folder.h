// A folder of results is replaced as one set: whenever the process ends, the folder holds the old set or the new one.
//
// kvsim keeps what it knows of the folder in the sub-folder .kvsim:
//
//   lock           the one process that writes into the folder has locked this file
//   manifest.json  lists the sets of files that commands wrote here, with sizes and checksums
//   new/           holds the files of a set, and the manifest to be, until all of them are complete
//   swap/          is `new` under another name: from this renaming on, the new set counts. Its files move up one by
//   one,
//                  the manifest last.
//
// A process that is killed before the renaming leaves the old set, and one that is killed after it a swap that is
// pending: the next reader or writer completes it before it looks at the folder. A folder without a manifest was
// written by an earlier version, or by hand; nothing in it is checked.
//
// On a file system without locks two writers are not kept apart. The manifest then still tells a mixed folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/output/write_file.h"

namespace kvsim::output {

/// The sub-folder that is kvsim's own.
inline constexpr std::string_view kOwnFolder = ".kvsim";

/// The size and CRC-32 of a file's contents.
struct Checksum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;
};
[[nodiscard]] Checksum checksum_of(std::string_view text);
/// None where the file cannot be read.
[[nodiscard]] std::optional<Checksum> checksum_of_file(const std::string& path);

/// The files that one command wrote together.
struct FileSet {
  struct File {
    std::string name;
    std::optional<Checksum> checksum;  ///< none: the file holds wall-clock times, which differ between equal runs
  };
  std::vector<File> files;
  std::string journal;      ///< a file beside them that grows while the command runs; empty: none
  std::string interrupted;  ///< a sentence on what there is, where the command was interrupted; else empty

  [[nodiscard]] bool has(std::string_view name) const;
};

/// The sets in a folder, no two of which share a name.
struct Manifest {
  std::vector<FileSet> sets;
  /// The set that a file belongs to; null where it belongs to none.
  [[nodiscard]] const FileSet* set_of(std::string_view name) const;
};

/// The manifest that a file's text is. Throws schema::InputError, which names `path`, where it is damaged.
[[nodiscard]] Manifest parsed_manifest(const std::string& path, const std::string& text);
[[nodiscard]] std::string manifest_text(const Manifest& manifest);

/// Whether a manifest can hold the name: it is UTF-8.
[[nodiscard]] bool can_list(const std::string& name);

/// A folder's lock, as long as the object lives.
class FolderLock {
 public:
  /// Throws OutputError where another process has the lock, or where the file `path` cannot be written.
  FolderLock(const std::string& folder, const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Whether the file system has locks; without them another process may write there, too.
  [[nodiscard]] bool is_alone() const { return alone_; }
  /// The entries that the lock adds to the folder, in the order in which it goes again.
  [[nodiscard]] const std::vector<std::string>& traces() const { return traces_; }

 private:
  std::vector<std::string> traces_;
  int file_ = -1;
  bool alone_ = false;
};

/// A folder that this process alone writes into.
class LockedFolder {
 public:
  /// Locks the folder, completes a swap that is pending and removes what a killed process had not completed. Throws
  /// OutputError where another process has the folder, or where `first`, a file to be, cannot be written there.
  LockedFolder(const std::string& folder, const std::string& first);
  ~LockedFolder();
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;

  [[nodiscard]] const FolderLock& lock() const { return lock_; }

  /// Writes a file that stands for itself, whole or not at all. Threads may call it for different files. Throws
  /// OutputError.
  void write_alone(const std::string& name, std::string_view text) const;

  /// Adds a file to the next set. Throws OutputError.
  void add(const std::string& name, std::string_view text) const;
  /// Adds a file that is complete under the name `from`, in this folder. Throws OutputError.
  void adopt(const std::string& name, const std::string& from) const;
  /// Puts the files that were added in place of the sets that share a name with `set`, which lists them. Files of those
  /// sets that are in no set any longer are removed, but for journals, what was changed, and `inputs`, names of files
  /// that the command has read. Throws OutputError.
  void replace(FileSet set, const std::vector<std::string>& inputs = {}) const;
  /// Removes the set that has this journal: the journal begins anew. Throws OutputError.
  void forget(const std::string& journal) const;

 private:
  void release(Manifest& manifest, const std::vector<std::string>& inputs) const;
  [[nodiscard]] std::string staged(const std::string& name) const;
  void swap_in(const Manifest& manifest) const;

  std::string folder_;
  FolderLock lock_;
};

// Readers. They throw schema::InputError with a sentence on what is wrong.

/// Completes a swap that is pending in the folder, and waits for one that another process is completing.
void settle(const std::string& folder);

/// The folder's manifest, after a check of the set that has the file `name`, or of all sets where it is empty. None
/// where nothing lists what belongs to the folder.
std::optional<Manifest> checked_folder(const std::string& folder, std::string_view name = {});

/// The text of a file as `read` reads it, which belongs to a set that was found whole, or to none.
std::string read_checked(const std::string& path, const std::function<std::string()>& read);

}  // namespace kvsim::output
