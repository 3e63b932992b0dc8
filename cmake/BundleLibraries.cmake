# SPDX-License-Identifier: Apache-2.0
# Run by cpack: copies what `binaries` link and `loaded` need into lib.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${binaries} LIBRARIES ${loaded}
  RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so")
foreach(library ${loaded})
  file(REAL_PATH ${library} real)
  get_filename_component(folder ${library} DIRECTORY)
  file(GLOB links ${folder}/libdnnl.so.*)
  list(APPEND found ${links})
endforeach()
foreach(library ${found})
  file(INSTALL ${library} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
endforeach()
