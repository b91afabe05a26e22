# folio_precompile(TARGET HEADERS...): headers that most of the target's files include are parsed once. In the sanitizer build
# with clang only, which CI makes from nothing: GCC's form would keep clang-tidy from reading the release build's commands.
function(folio_precompile target)
  if(NOT FOLIO_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # Without them ccache would not store what uses a precompiled header.
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
  if(FOLIO_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${FOLIO_CCACHE}")
  endif()
endfunction()
