module example.org/linnet-pi-client

go 1.22
