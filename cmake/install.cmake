# cmake --install FOLDER --prefix P: the program, its man page, its completions, scenarios and documentation. What is
# generated is made then, by running the program that is installed, so that it cannot lag behind it.
include(GNUInstallDirs)

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
install(CODE "
  function(generate file)
    execute_process(COMMAND \"$<TARGET_FILE:kvsim>\" \${ARGN} OUTPUT_FILE \"${generated}/\${file}\"
      RESULT_VARIABLE status ERROR_VARIABLE message)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR \"kvsim \${ARGN}: \${message}\")
    endif()
  endfunction()
  file(MAKE_DIRECTORY \"${generated}\")
  generate(kvsim.1 man)
  generate(kvsim completion bash)
  generate(_kvsim completion zsh)
  generate(kvsim.fish completion fish)
")
install(FILES ${generated}/kvsim.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/kvsim DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/_kvsim DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${generated}/kvsim.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(TARGETS kvsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET kvsim-calibrate)
  install(TARGETS kvsim-calibrate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
endif()
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/kvsim)
# README.md names files under docs.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
