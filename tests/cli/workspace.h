// An empty folder for one test, and a scenario that runs in milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace kvsim::test {

/// The small scenario; valid, closed loop, draft_verify, refers to nothing but the built-in catalogue.
std::string tiny_scenario();

/// Contexts that requests share, stored in host memory, on an SSD and remotely under policy utility.
std::string placement_scenario();

/// Prompts of four chunks of 512 tokens, half of which host memory holds, under policy selective.
std::string chunk_scenario();

/// `text` with the one occurrence of `from` replaced; throws where there is not exactly one.
std::string edited(const std::string& text, const std::string& from, const std::string& to);

class Workspace : public ::testing::Test {
 protected:
  Workspace();
  ~Workspace() override;

  /// kvsim, started in the folder.
  CommandResult run(const std::vector<std::string>& arguments) { return kvsim(arguments, {"", folder_}); }
  /// Writes a file into the folder; returns its name.
  std::string write(const std::string& name, const std::string& text);
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(folder_ + "/" + name); }
  /// Names in the folder and below, sorted, relative to it, but for the manifests of folders of results and the
  /// sub-folders .kvsim that hold nothing else.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace kvsim::test
