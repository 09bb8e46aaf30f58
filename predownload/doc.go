package predownload

