// Where measured data lies, which is not part of kvsim.
#pragma once

#include <string>

namespace kvsim::validation {

/// `asked` (of --measured) if it is not empty, else $KVSIM_MEASURED if that is set, else the first `shared/measured`
/// beside or above `start`, else an empty string. Throws schema::InputError where one that was named is no folder.
std::string measured_folder(const std::string& asked, const std::string& start);

/// Why figures that need measured data are skipped where there is none.
inline constexpr const char* kNoMeasuredData =
    "no measured data: name its folder with --measured or $KVSIM_MEASURED (else shared/measured beside or above the "
    "working folder is taken)";

}  // namespace kvsim::validation
